from __future__ import annotations

import hashlib
import json
import shutil
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.storage.audit_check import check_log
from toolcrib.storage.audit_file import AuditFile
from toolcrib.storage.audit_trail import files_of_log
from toolcrib.storage.file_lock import file_lock


def record(tool: str = "read", names: tuple[str, ...] = ("path",), caller: str = "claude") -> AuditRecord:
    return AuditRecord(1763194440.25, caller, "stdio", "files", tool, names, "OK", 12.34567, 120, 3400)


def lines(*paths: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def no_trouble(message: str) -> None:
    raise AssertionError(message)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "audit.jsonl"


def test_a_record_is_one_line_of_json_with_every_field(path: Path) -> None:
    AuditFile(path, on_trouble=no_trouble).append(record())

    assert path.read_bytes().endswith(b"}\n")
    (line,) = lines(path)
    assert (line.pop("n"), line.pop("previous"), len(line.pop("hash"))) == (1, "0" * 64, 64)
    assert line == (
        {
            "time": "2025-11-15T08:14:00.250+00:00",
            "caller": "claude",
            "face": "stdio",
            "server": "files",
            "tool": "read",
            "argumentNames": ["path"],
            "outcome": "OK",
            "durationMs": 12.346,
            "argumentBytes": 120,
            "resultBytes": 3400,
        }
    )


def test_the_file_is_for_its_owner_only(path: Path) -> None:
    AuditFile(path, on_trouble=no_trouble).append(record())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_names_that_look_secret_are_kept_as_names(path: Path) -> None:
    names = ("api_key", "password", "Authorization", "text")
    AuditFile(path, on_trouble=no_trouble).append(record(names=names))

    assert lines(path)[0]["argumentNames"] == list(names)


@pytest.mark.parametrize(
    "evil", ['x\n{"outcome":"OK"}', "a\r\nb", "a\u2028b", "a\u0085b", "\x1b[2J", '"},{"', "\ud800", "\x00", "a\x7fb"]
)
def test_no_name_can_start_a_second_record(path: Path, evil: str) -> None:
    AuditFile(path, on_trouble=no_trouble).append(record(tool=evil, names=(evil,), caller=evil))
    text = path.read_text(encoding="ascii")

    assert len(text.splitlines()) == 1
    assert text.rstrip("\n").isprintable()
    readable = evil.encode(errors="backslashreplace").decode()
    assert (lines(path)[0]["tool"], lines(path)[0]["argumentNames"]) == (readable, [readable])


def test_half_a_character_in_a_name_does_not_break_the_chain(path: Path) -> None:
    log = AuditFile(path, on_trouble=no_trouble)
    for tool in ("\ud800", "b"):
        log.append(record(tool=tool))

    assert check_log(path).breaks == ()
    assert [line["tool"] for line in lines(path)] == ["\\ud800", "b"]


@given(st.text(st.characters(), max_size=300), st.lists(st.text(st.characters(), max_size=300), max_size=100))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_stays_one_bounded_line(path: Path, text: str, names: list[str]) -> None:
    AuditFile(path, on_trouble=no_trouble).append(record(tool=text, names=tuple(names)))

    line = lines(path)[-1]
    readable = text.encode(errors="backslashreplace").decode()
    assert line["tool"] == readable if len(readable) <= 128 else line["tool"][:100] == readable[:100]
    assert len(line["tool"]) <= 128
    assert len(line["argumentNames"]) == min(len(names), 64)
    assert len(path.read_bytes().splitlines()[-1]) < 64 * 1024
    assert check_log(path).breaks == ()


def test_a_full_file_moves_on_and_the_oldest_is_dropped(path: Path) -> None:
    audit = AuditFile(path, max_bytes=1000, files=3, on_trouble=no_trouble)
    for number in range(40):
        audit.append(record(tool=str(number)))
    files = [path.with_name("audit.jsonl.2"), path.with_name("audit.jsonl.1"), path]
    kept = [int(line["tool"]) for line in lines(*files)]

    assert kept == list(range(kept[0], 40))
    assert kept[0] > 0
    assert all(0 < file.stat().st_size <= 1000 for file in files)
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "audit.jsonl",
        "audit.jsonl.1",
        "audit.jsonl.2",
        "audit.jsonl.head",
    ]


def test_other_limits_hold_from_the_next_record_on(path: Path) -> None:
    audit = AuditFile(path, max_bytes=1_000_000, files=5, on_trouble=no_trouble)
    for number in range(10):
        audit.append(record(tool=str(number)))
    audit.configure(max_bytes=10, files=2)
    for number in range(10, 13):
        audit.append(record(tool=str(number)))

    assert [line["tool"] for line in lines(path.with_name("audit.jsonl.1"), path)] == ["11", "12"]
    assert not path.with_name("audit.jsonl.2").exists()


def test_one_record_larger_than_a_file_is_still_kept(path: Path) -> None:
    audit = AuditFile(path, max_bytes=10, files=2, on_trouble=no_trouble)
    audit.append(record(tool="1"))
    audit.append(record(tool="2"))

    assert [line["tool"] for line in lines(path.with_name("audit.jsonl.1"), path)] == ["1", "2"]


def test_a_rotation_fills_the_first_free_place_and_pushes_nothing_out(path: Path) -> None:
    audit = AuditFile(path, max_bytes=10, files=3, on_trouble=no_trouble)
    for number in range(3):
        audit.append(record(tool=str(number)))
    path.with_name("audit.jsonl.1").unlink()
    audit.append(record(tool="3"))

    assert [line["tool"] for line in lines(path.with_name("audit.jsonl.2"), path.with_name("audit.jsonl.1"), path)] == [
        "0",
        "2",
        "3",
    ]


def test_files_beyond_a_smaller_number_are_deleted_with_the_next_rotation(path: Path) -> None:
    audit = AuditFile(path, max_bytes=10, files=5, on_trouble=no_trouble)
    for number in range(5):
        audit.append(record(tool=str(number)))
    audit.configure(max_bytes=10, files=3)
    audit.append(record(tool="5"))

    assert [file.name for file in files_of_log(path)] == ["audit.jsonl.2", "audit.jsonl.1", "audit.jsonl"]
    assert [line["tool"] for line in lines(*files_of_log(path))] == ["3", "4", "5"]


def test_a_stopped_writer_stops_no_call(path: Path) -> None:
    troubles: list[str] = []
    audit = AuditFile(path, on_trouble=troubles.append)
    assert audit.append(record(tool="1"))
    with file_lock(path.with_name("audit.jsonl.head")):
        began = time.monotonic()
        assert [audit.append(record()) for _ in range(20)] == [False] * 20
        assert time.monotonic() - began < 5

    assert audit.append(record(tool="2"))
    assert [(line["tool"], line.get("unrecorded")) for line in lines(path)] == [("1", None), ("2", 20)]
    assert len(troubles) == 2


def test_long_names_are_shortened_and_still_told_apart(path: Path) -> None:
    audit = AuditFile(path, on_trouble=no_trouble)
    names = ["n" * 128, "n" * 129, "n" * 128 + "m", "n" * 5000, "n" * 5001]
    for name in names:
        audit.append(record(tool=name, names=(name,)))

    written = [line["tool"] for line in lines(path)]
    assert written[0] == names[0]
    assert len(set(written)) == len(names)
    assert all(len(name) <= 128 for name in written)
    assert written[1].endswith(f"…sha256:{hashlib.sha256(names[1].encode()).hexdigest()[:16]}")
    assert [line["argumentNames"] for line in lines(path)] == [[name] for name in written]


def test_fewer_than_two_files_are_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="at least 2"):
        AuditFile(path, files=1, on_trouble=no_trouble)


def test_a_disk_that_refuses_is_reported_once_and_again_when_it_recovers(path: Path) -> None:
    path.mkdir(parents=True)
    troubles: list[str] = []
    audit = AuditFile(path, on_trouble=troubles.append)
    for _ in range(3):
        audit.append(record())
    assert len(troubles) == 1
    assert "cannot be written" in troubles[0]

    path.rmdir()
    for _ in range(2):
        audit.append(record())
    assert len(troubles) == 2
    assert "recorded again" in troubles[1]
    assert "3 could not" in troubles[1]
    assert len(lines(path)) == 2

    path.unlink()
    path.mkdir()
    audit.append(record())
    assert len(troubles) == 3


def test_a_listener_that_fails_stops_no_call(path: Path) -> None:
    path.mkdir(parents=True)

    AuditFile(path, on_trouble=no_trouble).append(record())

    assert list(path.iterdir()) == []


def test_a_deleted_folder_is_made_again(path: Path) -> None:
    audit = AuditFile(path, on_trouble=no_trouble)
    audit.append(record())
    shutil.rmtree(path.parent)
    audit.append(record())

    assert [line["outcome"] for line in lines(path)] == ["audit_changed", "OK"]


def test_a_link_in_place_of_the_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    troubles: list[str] = []
    AuditFile(path, on_trouble=troubles.append).append(record())

    assert len(troubles) == 1
    assert not (tmp_path / "elsewhere").exists()


def test_three_processes_rotate_one_log_and_lose_no_line(path: Path, start_child: Callable[..., Any]) -> None:
    rounds, owners = 400, ("a", "b", "c")
    children = [start_child("audit_child.py", path, owner, rounds, 20_000, 20, 0) for owner in owners]
    for child in children:
        child.go_on()
    for child in children:
        assert child.rest() == ["troubles", "0"]
    files = files_of_log(path)
    written = [(line["caller"], int(line["tool"])) for line in lines(*files)]

    assert len(files) > 4
    assert sorted(written) == [(owner, number) for owner in owners for number in range(rounds)]
    checked = check_log(path)
    assert (checked.first, checked.last, checked.breaks) == (1, rounds * len(owners), ())


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
def test_a_disk_that_fills_up_leaves_only_whole_lines(path: Path, start_child: Callable[..., Any]) -> None:
    child = start_child("audit_child.py", path, "a", 10, 100_000, 2, 1000)
    child.go_on()
    output = child.rest()
    written = [line["tool"] for line in lines(path)]

    assert output[:2] == ["troubles", "2"]
    assert "cannot be written" in output[2]
    assert f"{11 - len(written)} could not" in output[3]
    assert written == [*map(str, range(len(written) - 1)), "after"]
    assert 2 < len(written) < 11
