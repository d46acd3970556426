from __future__ import annotations

import itertools
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.errors import ResultExpired, StoreUnavailable
from toolcrib.storage.result_files import ResultFiles

START = 1_763_194_440.0


class Shelf:
    """Result files in one folder, with a clock moved by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = START
        self._numbers = itertools.count(1)

    def open(self, *, keep_seconds: float = 3600.0, max_total_bytes: int = 1000) -> ResultFiles:
        return ResultFiles(
            self.folder,
            keep_seconds=keep_seconds,
            max_total_bytes=max_total_bytes,
            now=lambda: self.now,
            new_id=lambda: f"{next(self._numbers):032x}",
        )

    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir())


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "results")


def is_kept(results: ResultFiles, caller: str, handle: str) -> bool:
    try:
        results.get(caller, handle)
    except ResultExpired:
        return False
    return True


def test_a_result_comes_back_for_its_caller_as_often_as_asked(shelf: Shelf) -> None:
    results = shelf.open()
    handle = results.put("me", b"\x00large\xff")

    assert [results.get("me", handle), results.get("me", handle)] == [b"\x00large\xff"] * 2


def test_another_time_and_another_size_hold_for_results_that_are_kept_already(shelf: Shelf) -> None:
    results = shelf.open(keep_seconds=10)
    first = results.put("me", b"data")
    shelf.now += 20
    results.configure(keep_seconds=60, max_total_bytes=10)

    assert results.get("me", first) == b"data"
    with pytest.raises(StoreUnavailable):
        results.put("me", b"more than fits")


def test_a_result_survives_a_restart(shelf: Shelf) -> None:
    handle = shelf.open().put("me", b"data")

    assert shelf.open().get("me", handle) == b"data"


def test_another_caller_gets_the_answer_of_an_unknown_handle(shelf: Shelf) -> None:
    results = shelf.open()
    handle = results.put("me", b"data")
    with pytest.raises(ResultExpired) as foreign:
        results.get("you", handle)
    with pytest.raises(ResultExpired) as unknown:
        results.get("me", "f" * 32)

    assert (foreign.value.message, foreign.value.hint) == (unknown.value.message, unknown.value.hint)


def test_the_files_are_for_their_owner_only_and_do_not_name_the_caller(shelf: Shelf) -> None:
    handle = shelf.open().put("secret-caller", b"data")
    (file,) = shelf.files()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(shelf.folder.stat().st_mode) == 0o700
    assert file.name.startswith(handle)
    assert "secret-caller" not in file.name


def test_a_result_expires_when_its_time_is_over(shelf: Shelf) -> None:
    results = shelf.open(keep_seconds=60.0)
    handle = results.put("me", b"data")
    shelf.now = START + 59.0
    assert is_kept(results, "me", handle)

    shelf.now = START + 60.0
    assert not is_kept(results, "me", handle)


def test_expired_results_are_removed_by_the_next_put_and_at_start(shelf: Shelf) -> None:
    results = shelf.open(keep_seconds=60.0)
    results.put("me", b"first")
    shelf.now += 61.0
    second = results.put("me", b"second")
    assert [file.name[:32] for file in shelf.files()] == [second]

    shelf.now += 61.0
    shelf.open(keep_seconds=60.0)
    assert shelf.files() == []


def test_the_oldest_results_make_room_for_a_new_one(shelf: Shelf) -> None:
    results = shelf.open(max_total_bytes=100)
    handles = []
    for size in (40, 30, 30, 50):
        handles.append(results.put("me", b"x" * size))
        shelf.now += 1.0

    assert [is_kept(results, "me", handle) for handle in handles] == [False, False, True, True]


def test_a_result_larger_than_the_shelf_is_refused_and_pushes_nothing_out(shelf: Shelf) -> None:
    results = shelf.open(max_total_bytes=100)
    handle = results.put("me", b"data")
    with pytest.raises(StoreUnavailable, match="101 bytes"):
        results.put("me", b"x" * 101)

    assert is_kept(results, "me", handle)


@pytest.mark.parametrize(
    "handle",
    ["", ".", "..", "../secret", "/etc/passwd", "a" * 31, "A" * 32, "0" * 33, "0" * 32 + "\n", "\x00" * 32, "\ud800"],
)
def test_a_hostile_handle_is_an_expired_one(shelf: Shelf, handle: str) -> None:
    (shelf.folder.parent / "secret").write_text("secret")

    with pytest.raises(ResultExpired):
        shelf.open().get("me", handle)


@given(st.text(st.characters(), max_size=80), st.text(st.characters(), max_size=80))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_guess_reads_a_result_of_another(shelf: Shelf, caller: str, handle: str) -> None:
    results = shelf.open()
    mine = results.put(caller, b"data")

    assert not is_kept(results, caller, handle)
    assert not is_kept(results, caller + "x", mine)
    assert results.get(caller, mine) == b"data"


def test_a_link_in_place_of_a_result_is_not_followed(shelf: Shelf, tmp_path: Path) -> None:
    results = shelf.open()
    handle = results.put("me", b"data")
    (file,) = shelf.files()
    file.unlink()
    (tmp_path / "secret").write_text("secret")
    file.symlink_to(tmp_path / "secret")

    assert not is_kept(results, "me", handle)


def test_files_of_others_are_neither_counted_nor_removed(shelf: Shelf) -> None:
    shelf.folder.mkdir()
    note = shelf.folder / "note.txt"
    note.write_bytes(b"x" * 5000)
    os.utime(note, (0, 0))
    results = shelf.open(max_total_bytes=100)
    handle = results.put("me", b"x" * 90)

    assert is_kept(results, "me", handle)
    assert note.exists()


def test_what_a_crash_left_half_written_is_cleared_away(shelf: Shelf) -> None:
    shelf.folder.mkdir()
    partial = shelf.folder / f"{'0' * 32}-{'1' * 32}.part"
    partial.write_bytes(b"half")
    os.utime(partial, (START - 3600.0, START - 3600.0))
    shelf.open()

    assert shelf.files() == []


def test_a_folder_that_cannot_be_used_refuses_results_but_not_the_start(shelf: Shelf) -> None:
    shelf.folder.write_text("a file where the folder should be")
    results = shelf.open()

    with pytest.raises(StoreUnavailable, match="results"):
        results.put("me", b"data")
    assert not is_kept(results, "me", "0" * 32)


def test_a_write_that_fails_leaves_nothing_behind(shelf: Shelf) -> None:
    results = shelf.open()
    first = results.put("me", b"data")
    (file,) = shelf.files()
    file.unlink()
    file.mkdir()
    again = ResultFiles(shelf.folder, now=lambda: shelf.now, new_id=lambda: first)

    with pytest.raises(StoreUnavailable):
        again.put("me", b"data")
    assert shelf.files() == [file]
