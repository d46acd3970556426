from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.storage.file_lock import file_lock, lock_holder


def test_a_held_lock_is_refused_to_others_and_free_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    with file_lock(path) as first, file_lock(path, wait_seconds=0.03) as second:
        assert (first, second) == (True, False)
    with file_lock(path) as third:
        assert third


def test_a_lock_is_given_back_when_the_work_fails(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    with pytest.raises(ValueError, match="work"), file_lock(path):
        raise ValueError("work")
    with file_lock(path) as taken:
        assert taken


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "some.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"), file_lock(tmp_path / "some.lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_who_is_refused_can_read_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    assert lock_holder(path) == ""
    with file_lock(path, holder="a rather long name of the first"):
        pass
    with file_lock(path, holder="the second"), file_lock(path, holder="the third") as third:
        assert (third, lock_holder(path)) == (False, "the second")
