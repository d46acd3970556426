from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.storage import audit_file
from toolcrib.storage.audit_chain import Head
from toolcrib.storage.audit_check import Checked, check_log
from toolcrib.storage.audit_file import AuditFile, head_path
from toolcrib.storage.audit_head import AuditHead
from toolcrib.storage.audit_trail import AuditTrail, files_of_log

Edit = Callable[[list[bytes]], list[bytes]]


def a_log(path: Path, **limits: int) -> AuditFile:
    def no_trouble(message: str) -> None:
        raise AssertionError(message)

    return AuditFile(path, **limits, on_trouble=no_trouble)


def a_record(tool: object) -> AuditRecord:
    return AuditRecord(1000.0, "claude", "stdio", "files", str(tool), ("path",), "OK", 1.0, 10, 20)


def write(log: AuditFile, *tools: object) -> None:
    for tool in tools:
        assert log.append(a_record(tool))


def outcomes(path: Path) -> list[str]:
    return [json.loads(line)["outcome"] for file in files_of_log(path) for line in file.read_bytes().splitlines()]


def said(path: Path) -> list[tuple[int, str]]:
    return [(found.number, found.what) for found in check_log(path).breaks]


def edited(path: Path, edit: Edit) -> None:
    """As somebody does who has an editor: the file stays the same file."""
    lines = edit(path.read_bytes().splitlines(keepends=True))
    with path.open("r+b") as same:
        same.write(b"".join(lines))
        same.truncate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def test_an_untouched_log_is_whole(path: Path) -> None:
    log = a_log(path)
    write(log, *range(20))
    last = json.loads(path.read_bytes().splitlines()[-1])

    assert check_log(path) == Checked(1, 20, last["hash"], (), 0, 0, has_expected=True)
    assert last["n"] == 20


def test_an_empty_log_is_whole(path: Path) -> None:
    assert check_log(path) == Checked(0, 0, "", (), 0, 0, has_expected=True)


def swapped(lines: list[bytes]) -> list[bytes]:
    return [*lines[:4], lines[5], lines[4], *lines[6:]]


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda lines: [*lines[:4], lines[4].replace(b"claude", b"cursor"), *lines[5:]], 5),
        (lambda lines: [*lines[:4], lines[4].replace(b'"OK"', b'"NO"'), *lines[5:]], 5),
        (lambda lines: [*lines[:4], *lines[5:]], 5),
        (lambda lines: [*lines[:4], *lines[7:]], 5),
        (lambda lines: lines[1:], 2),
        (lambda lines: lines[:-1], 10),
        (lambda lines: lines[:3], 4),
        (lambda lines: [*lines[:4], lines[3], *lines[4:]], 4),
        (lambda lines: [*lines[:4], b'{"outcome":"OK"}\n', *lines[4:]], 5),
        (swapped, 5),
    ],
    ids=["caller", "outcome", "one", "three", "first", "last", "tail", "twice", "added", "swapped"],
)
@pytest.mark.parametrize("goes_on", [False, True], ids=["then nothing", "then more calls"])
def test_a_change_is_found_where_it_was_made(path: Path, edit: Edit, found: int, *, goes_on: bool) -> None:
    log = a_log(path)
    write(log, *range(10))
    edited(path, edit)
    if goes_on:
        write(log, 11, 12)

    assert said(path)[0][0] == found


@given(st.integers(0, 10_000), st.integers(1, 255))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_byte_can_be_changed_unnoticed(path: Path, place: int, difference: int) -> None:
    if not path.exists():
        write(a_log(path), *range(8))
    text = bytearray(path.read_bytes())
    kept = bytes(text)
    text[place % len(text)] = (text[place % len(text)] + difference) % 256
    path.write_bytes(text)
    try:
        assert said(path) != []
    finally:
        path.write_bytes(kept)


def test_whoever_gives_a_changed_line_another_hash_is_found_at_the_next(path: Path) -> None:
    write(a_log(path), *range(10))
    other = path.with_name("other.jsonl")
    write(a_log(other), *range(4), "else")
    forged = other.read_bytes().splitlines(keepends=True)[4]
    edited(path, lambda lines: [*lines[:4], forged, *lines[5:]])

    assert said(path) == [(6, "line 6 was changed, or one before it")]


def test_a_log_that_was_cut_says_so_for_ever_and_goes_on(path: Path) -> None:
    log = a_log(path)
    write(log, *range(10))
    edited(path, lambda lines: lines[:-3])
    write(log, 11, 12)
    write(a_log(path), 13)

    assert outcomes(path) == ["OK"] * 7 + ["audit_changed"] + ["OK"] * 3
    assert said(path)[0] == (8, "lines 8 to 10 are missing")
    assert check_log(path).last == 14


def test_a_line_that_was_torn_is_followed_by_whole_ones(path: Path) -> None:
    log = a_log(path)
    write(log, 1, 2)
    with path.open("ab") as torn:
        torn.write(b'{"n":3,"ti')
    write(log, 3)

    assert [json.loads(line)["n"] for line in path.read_bytes().splitlines() if line.endswith(b"}")] == [1, 2, 3, 4]
    assert said(path)[0] == (3, "after line 2 is one that Toolcrib did not write")


def test_a_deleted_head_does_not_hide_a_cut(path: Path) -> None:
    log = a_log(path)
    write(log, *range(10))
    edited(path, lambda lines: lines[:-3])
    head_path(path).unlink()

    ((number, what),) = said(path)
    assert number == 8
    assert what.endswith("is missing or damaged: nobody can tell whether lines after line 7 were cut off")
    write(log, 11)
    assert said(path) == [(8, "lines 8 to 10 are missing")]


def test_a_log_that_was_deleted_with_its_head_is_missed_by_whoever_wrote_it(path: Path) -> None:
    log = a_log(path)
    write(log, *range(5))
    path.unlink()
    head_path(path).unlink()
    write(log, 6, 7)

    assert outcomes(path) == ["audit_changed", "OK", "OK"]
    assert said(path) == [(6, "before line 6 somebody changed, cut or replaced the log")]


def test_a_head_of_noise_is_replaced_with_the_next_line(path: Path) -> None:
    write(a_log(path), *range(5))
    head_path(path).write_bytes(bytes.fromhex("8d1f93a2c47be07c") * 7)

    assert [number for number, _ in said(path)] == [6]
    write(a_log(path), 6)
    assert said(path) == [(6, "before line 6 somebody changed, cut or replaced the log")]
    assert check_log(path).last == 7


def test_an_emptied_log_is_not_taken_for_a_new_one(path: Path) -> None:
    log = a_log(path)
    write(log, *range(10))
    edited(path, lambda _: [])

    assert said(path) == [(1, "lines 1 to 10 are missing")]
    write(log, 11)
    assert said(path) == [(11, "before line 11 somebody changed, cut or replaced the log")]


def test_a_log_that_a_person_deleted_goes_on_with_the_next_number(path: Path) -> None:
    log = a_log(path)
    write(log, 1, 2, 3)
    path.unlink()
    write(log, 4)

    assert outcomes(path) == ["audit_changed", "OK"]
    assert (check_log(path).first, check_log(path).last) == (4, 5)


def test_a_log_that_was_copied_to_another_disk_goes_on(path: Path) -> None:
    write(a_log(path), *range(10))
    moved = path.parent / "moved" / path.name
    shutil.copytree(path.parent, moved.parent)
    write(a_log(moved), 11, 12)

    assert set(outcomes(moved)) == {"OK"}
    assert (check_log(moved).last, check_log(moved).breaks) == (12, ())


def test_a_copy_in_which_a_line_was_changed_is_found(path: Path) -> None:
    log = a_log(path)
    write(log, *range(10))
    copy = path.read_bytes().replace(b'"tool":"4"', b'"tool":"x"')
    path.rename(path.with_name("kept"))
    path.write_bytes(copy)
    write(log, 11)

    assert said(path)[0][0] == 5


@pytest.mark.parametrize(
    "foreign",
    [
        b'{"n":3,"x":' + b"[" * 5000 + b"]" * 5000,
        b'{"n":99999999999999999999999999',
        b'{"n":18446744073709551615',
        b'{"n":-1',
    ],
    ids=["deep", "huge", "largest", "negative"],
)
@pytest.mark.parametrize("has_head", [True, False])
def test_no_line_of_anybody_stops_the_log(path: Path, foreign: bytes, *, has_head: bool) -> None:
    write(a_log(path), 1, 2)
    with path.open("ab") as opened:
        opened.write(foreign + b',"hash":"' + b"0" * 64 + b'"}\n')
    if not has_head:
        head_path(path).unlink()
    write(a_log(path), 3)

    assert said(path) != []
    assert [record.tool for record in AuditTrail(path).last(lambda record: record.outcome == "OK")] == ["1", "2", "3"]


def test_a_head_that_nobody_could_have_written_counts_as_none(path: Path) -> None:
    write(a_log(path), 1, 2)
    status = path.stat()
    head_path(path).write_bytes(Head(2**64 - 1, bytes(32), status.st_ino, status.st_size).packed())
    write(a_log(path), 3)

    assert said(path) != []


def test_whoever_wrote_last_puts_the_head_right_with_the_next_line(path: Path) -> None:
    log = a_log(path)
    write(log, 1, 2)
    head_path(path).write_bytes(b"noise")
    write(log, 3)
    write(a_log(path), 4)

    assert said(path) == []


def test_lines_of_two_writers_in_turn_are_one_chain_over_rotations_of_either(path: Path) -> None:
    one, other = a_log(path, max_bytes=1000, files=9), a_log(path, max_bytes=1000, files=9)
    for number in range(20):
        write(one if number % 3 else other, number)

    assert said(path) == []
    assert [record.tool for record in AuditTrail(path).last(lambda _: True)] == [str(number) for number in range(20)]


def test_a_log_that_somebody_moved_away_gets_no_more_lines(path: Path) -> None:
    log = a_log(path)
    write(log, 1, 2)
    moved = path.rename(path.with_name("moved"))
    before = moved.read_bytes()
    write(log, 3)

    assert moved.read_bytes() == before
    assert [record.tool for record in AuditTrail(path).last(lambda record: record.outcome == "OK")] == ["3"]


def test_rotation_keeps_the_chain(path: Path) -> None:
    log = a_log(path, max_bytes=1000, files=3)
    write(log, *range(40))
    checked = check_log(path)

    assert len(files_of_log(path)) == 3
    assert (checked.last, checked.breaks) == (40, ())
    assert checked.first > 1


def test_a_file_taken_from_the_middle_is_missed(path: Path) -> None:
    write(a_log(path, max_bytes=1000, files=5), *range(10))
    path.with_name("audit.jsonl.2").unlink()

    ((_, what),) = said(path)
    assert "missing" in what


def test_the_beginning_of_the_oldest_file_can_not_be_cut_off(path: Path) -> None:
    write(a_log(path, max_bytes=1000, files=3), *range(40))
    oldest = files_of_log(path)[0]
    edited(oldest, lambda lines: lines[1:])

    (_, missing), (number, what) = said(path)
    assert missing == f"line {number - 1} is missing"
    assert what == f"what came before line {number} in its file was removed"


def test_an_old_log_is_taken_over(path: Path) -> None:
    old = b'{"time":"2026-01-01T00:00:00.000+00:00","tool":"x"}\n'
    path.write_bytes(old * 3)
    path.with_name("audit.jsonl.1").write_bytes(old * 2)
    write(a_log(path), 1, 2)
    checked = check_log(path)

    assert path.read_bytes().startswith(old * 3)
    assert [json.loads(line).get("outcome") for line in path.read_bytes().splitlines()[3:]] == [
        "audit_began",
        "OK",
        "OK",
    ]
    assert (checked.first, checked.last, checked.unchained, checked.breaks) == (1, 3, 5, ())


def test_the_expected_hash_is_looked_for(path: Path) -> None:
    write(a_log(path), *range(5))
    third = json.loads(path.read_bytes().splitlines()[2])["hash"]

    assert check_log(path, third).has_expected
    assert not check_log(path, "ab" * 32).has_expected


class Killed(BaseException):
    """What ends a process between two steps."""


@pytest.mark.parametrize("max_bytes", [100_000, 900], ids=["in one file", "while rotating"])
@pytest.mark.parametrize("files", [50, 3], ids=["all files stay", "files are dropped"])
@pytest.mark.parametrize("step", ["line", "head", "file", "drop"])
def test_a_kill_between_line_and_head_loses_nothing(
    path: Path, step: str, files: int, max_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of the steps of a line, again and again."""
    survivor = a_log(path, max_bytes=max_bytes, files=files)
    targets = {
        "line": (audit_file, "_append_whole"),
        "head": (AuditHead, "write"),
        "file": (os, "replace"),
        "drop": (Path, "unlink"),
    }
    written = itertools.count()
    for _ in range(8):
        with monkeypatch.context() as patch:
            owner, name = targets[step]
            patch.setattr(owner, name, killed_after(getattr(owner, name), after=step != "head"))
            with suppress(Killed):
                # Enough for each of them to meet a full file.
                write(a_log(path, max_bytes=max_bytes, files=files), *itertools.islice(written, 5))
        assert check_log(path).breaks == ()
        write(survivor, next(written))
        assert check_log(path).breaks == ()

    checked = check_log(path)
    assert set(outcomes(path)) <= {"OK", "audit_unconfirmed"}
    assert len(checked.unconfirmed) == outcomes(path).count("audit_unconfirmed")
    assert checked.last >= 8


def test_a_kill_while_a_smaller_number_of_files_is_reached_tears_no_gap(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(a_log(path, max_bytes=900, files=9), *range(30))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed_after(Path.unlink, after=True))
        with suppress(Killed):
            write(a_log(path, max_bytes=900, files=3), *range(30))

    assert said(path) == []
    assert len(files_of_log(path)) > 3
    write(a_log(path, max_bytes=900, files=3), *range(5))
    assert said(path) == []
    assert len(files_of_log(path)) == 3


@pytest.mark.parametrize("refused", [0, 4], ids=["there is room at once", "there is room later"])
def test_on_a_full_disk_the_oldest_file_makes_room_and_is_not_missed(
    path: Path, refused: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditFile(path, max_bytes=1000, files=3, on_trouble=lambda _: None)
    write(log, *range(20))
    oldest, more, append = path.with_name("audit.jsonl.3"), itertools.count(), audit_file._append_whole

    def append_where_there_is_room(descriptor: int, line: bytes) -> None:
        is_first = os.fstat(descriptor).st_size == 0
        if oldest.exists() or (is_first and next(more) < refused):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(descriptor, line)

    monkeypatch.setattr(audit_file, "_append_whole", append_where_there_is_room)
    written = list[bool]()
    for number in range(20):
        written.append(log.append(a_record(number)))
        assert said(path) == []

    assert written.count(False) == refused
    assert check_log(path).last == 40 - refused
    assert not oldest.exists()


def test_a_head_that_can_not_be_written_while_a_file_begins_gets_no_line_twice(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditFile(path, max_bytes=900, files=3, on_trouble=lambda _: None)
    write(log, *range(20))

    write_head = AuditHead.write

    def write_before_the_line(head: AuditHead, end: Head) -> None:
        if path.stat().st_size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_head(head, end)

    for number in range(10):
        with monkeypatch.context() as patch:
            patch.setattr(AuditHead, "write", write_before_the_line)
            assert not log.append(a_record(number))
        assert said(path) == []
        write(log, number)
        assert said(path) == []


def continued(path: Path, count: int) -> None:
    """As somebody does who knows how lines hang together, and leaves the head alone."""
    lines = path.read_bytes().splitlines()
    for _ in range(count):
        last = json.loads(lines[-1])
        line, _ = Head(last["n"], bytes.fromhex(last["hash"]), 0, 1).sealed(b'"tool":"forged","outcome":"OK"')
        lines.append(line.rstrip(b"\n"))
    edited(path, lambda _: [line + b"\n" for line in lines])


def test_lines_that_were_rewritten_with_fitting_hashes_and_one_more_are_found_by_the_head(path: Path) -> None:
    log = a_log(path)
    write(log, *range(10))
    edited(path, lambda lines: lines[:4])
    continued(path, 7)

    assert said(path) == [(10, "line 10 is not the one that was written: it or lines before it were changed")]
    write(log, 11)
    assert said(path) == [(11, "line 11 comes after line 11")]


def test_lines_that_were_rewritten_to_the_byte_are_found_when_the_log_goes_on(path: Path) -> None:
    """The file then is as large as the head says, and a forged line begins where the next one would."""
    log = a_log(path)
    write(log, *range(10))
    other = path.with_name("other.jsonl")
    write(a_log(other), *range(4), *range(5, 10), 4, 11)
    edited(path, lambda _: other.read_bytes().splitlines(keepends=True))

    assert said(path) == [(10, "line 10 is not the one that was written: it or lines before it were changed")]
    write(log, 12)
    assert said(path) == [(11, "line 11 comes after line 11")]


def test_more_lines_than_a_kill_can_leave_were_added_by_somebody(path: Path) -> None:
    log = a_log(path)
    write(log, 1, 2, 3)
    continued(path, 2)

    ((number, what),) = said(path)
    assert (number, what.split(",")[0]) == (4, "lines 4 to 5 were added by somebody")
    write(log, 6)
    assert said(path) == [(6, "before line 6 somebody changed, cut or replaced the log")]


def test_the_one_line_that_a_kill_can_leave_is_named_for_ever_and_is_no_break(path: Path) -> None:
    log = a_log(path)
    write(log, 1, 2, 3)
    continued(path, 1)

    assert (check_log(path).breaks, check_log(path).unconfirmed) == ((), (4,))
    write(log, 5)
    write(a_log(path), 6)
    assert outcomes(path) == ["OK"] * 4 + ["audit_unconfirmed", "OK", "OK"]
    assert (check_log(path).breaks, check_log(path).unconfirmed) == ((), (4,))


def test_a_kill_within_the_first_line_of_all_leaves_it_unconfirmed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(audit_file, "_append_whole", killed_after(audit_file._append_whole, after=True))
        with suppress(Killed):
            write(a_log(path), 1)

    assert (check_log(path).breaks, check_log(path).unconfirmed) == ((), (1,))


def killed_after(act: Callable[..., Any], *, after: bool) -> Callable[..., Any]:
    def killed(*arguments: Any) -> Any:
        if after:
            act(*arguments)
        raise Killed

    return killed


@pytest.mark.parametrize("into", ["audit.jsonl", "audit.jsonl.2"])
def test_lines_that_were_added_at_the_front_are_found(path: Path, into: str) -> None:
    write(a_log(path), *range(5))
    added = b'{"time":"2026-01-01T00:00:00.000+00:00","tool":"x"}\n'
    front = path.with_name(into)
    front.write_bytes(added + (front.read_bytes() if front.exists() else b""))

    assert said(path)[0] == (1, "before line 1 are lines that Toolcrib did not write")


@pytest.mark.parametrize("taken", [slice(1), slice(None)], ids=["the oldest", "all"])
def test_rotated_files_that_somebody_took_away_are_missed(path: Path, taken: slice) -> None:
    log = a_log(path, max_bytes=1000, files=50)
    write(log, *range(20))
    assert said(path) == []
    for file in files_of_log(path)[:-1][taken]:
        file.unlink()
    first = check_log(path).first

    assert first > 1
    assert said(path) == [(1, f"lines 1 to {first - 1} are missing")]
    write(log, *range(20))
    assert said(path) == [(1, f"lines 1 to {first - 1} are missing")]


def test_what_rotation_drops_is_not_missed(path: Path) -> None:
    for files in (50, 4, 3, 7):
        write(a_log(path, max_bytes=1000, files=files), *range(30))
        assert said(path) == []
    assert check_log(path).first > 1
    oldest = files_of_log(path)[0]
    oldest.unlink()

    ((number, what),) = said(path)
    assert what == f"lines {number} to {check_log(path).first - 1} are missing"


def test_a_file_that_does_not_say_what_was_kept_is_no_proof_of_anything(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the version before wrote it, which may have dropped files of ours meanwhile."""
    write(a_log(path, max_bytes=1000, files=50), *range(20))
    with monkeypatch.context() as patch:
        patch.setattr(audit_file, "first_line_kept", lambda _: 0)
        patch.setattr(audit_file, "first_line_of", lambda _: 0)
        write(a_log(path, max_bytes=1000, files=3), *range(20))
    assert said(path) == []

    write(a_log(path, max_bytes=1000, files=4), *range(20))
    assert said(path) == []
    files_of_log(path)[0].unlink()
    assert said(path) != []
