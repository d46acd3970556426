"""Whether the audit log is as it was written: no line changed, none missing, none added."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from toolcrib.errors import StoreUnavailable
from toolcrib.storage.audit_chain import BEGINNING, Head, Link, read_link
from toolcrib.storage.audit_file import head_path
from toolcrib.storage.audit_head import AuditHead
from toolcrib.storage.audit_takeover import BEGAN, CHANGED, UNCONFIRMED
from toolcrib.storage.audit_trail import files_of_log

_LOCK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the log is not as it was written: `number` is that of the first line that does not fit.

    Lines before it fit together, which is no proof of them: whoever rewrites some gives them hashes that fit.
    """

    number: int
    what: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The numbers of the first and the last line, the hash of the last, and everything that is wrong between them."""

    first: int
    last: int
    hash: str
    breaks: tuple[Break, ...]
    # Lines from before the chain began: nothing can be said about them.
    unchained: int
    # Calls that could not be written down when they were made.
    unrecorded: int
    # Whether a line with the hash that was asked for is there.
    has_expected: bool
    # Lines that continue the log, but that the head did not know: of a process that was killed, or of somebody else.
    unconfirmed: tuple[int, ...] = ()


def check_log(path: Path, expected: str = "") -> Checked:
    """Read the whole log and its head as they are at one moment; other processes go on writing.

    Raises StoreUnavailable where they can't be read.
    """
    try:
        with ExitStack() as opened:
            files, head = _at_one_moment(path, opened)
            walk = _Walk(head, bytes.fromhex(expected) if expected else None)
            for stream, size in files:
                walk.begin_file()
                for line in _lines(stream, size):
                    walk.take(line)
            walk.end()
    except OSError as problem:
        raise StoreUnavailable(f"{path} can't be checked: {problem.strerror or problem}") from problem
    return walk.outcome()


def _at_one_moment(path: Path, opened: ExitStack) -> tuple[list[tuple[IO[bytes], int]], Head | None]:
    """The files with their sizes, and the head that belongs to them."""
    head_file = head_path(path)
    if not head_file.exists():
        return _files(path, opened), None
    lock = opened.enter_context(closing(AuditHead(head_file)))
    lock.take(_LOCK_SECONDS)
    try:
        return _files(path, opened), lock.read()
    finally:
        lock.release()


def _files(path: Path, opened: ExitStack) -> list[tuple[IO[bytes], int]]:
    streams = [opened.enter_context(file.open("rb")) for file in files_of_log(path) if file.is_file()]
    return [(stream, os.fstat(stream.fileno()).st_size) for stream in streams]


def _lines(stream: IO[bytes], size: int) -> Iterator[bytes]:
    read = 0
    while read < size and (line := stream.readline(size - read)):
        read += len(line)
        yield line.rstrip(b"\n")


class _Walk:
    """Goes along the chain line by line."""

    def __init__(self, head: Head | None, expected: bytes | None) -> None:
        self._head = head
        self._has_passed_head = head is not None and (head.number, head.hash) == (0, BEGINNING)
        self._expected = expected
        self._has_expected = expected is None
        self._first = 0
        # What the first line of the newest file says of the oldest line.
        self._oldest = 0
        self._number = 0
        self._hash = BEGINNING
        self._breaks: list[Break] = []
        self._unchained = 0
        self._unrecorded = 0
        self._unconfirmed: list[int] = []

    def begin_file(self) -> None:
        # A file that a version before this one began says nothing, and what was said before it may have been dropped since.
        self._oldest = 0

    def take(self, line: bytes) -> None:
        link = read_link(line)
        if link is None:
            self._foreign()
            return
        if self._first:
            self._judge(link)
        else:
            self._begin(link)
        self._number, self._hash = link.number, link.hash
        self._oldest = self._oldest or link.oldest
        self._unrecorded += link.unrecorded
        self._has_expected = self._has_expected or link.hash == self._expected
        if self._head is not None and (link.number, link.hash) == (self._head.number, self._head.hash):
            self._has_passed_head = True

    def end(self) -> None:
        if 0 < self._oldest < self._first:
            self._breaks.insert(0, Break(self._oldest, _missing(self._oldest, self._first - 1)))
        if self._head is None:
            self._end_without_head()
        else:
            self._compare(self._head.number)

    def outcome(self) -> Checked:
        return Checked(
            self._first,
            self._number,
            self._hash.hex() if self._first else "",
            tuple(self._breaks),
            self._unchained,
            self._unrecorded,
            self._has_expected,
            tuple(number for number in self._unconfirmed if number >= self._first),
        )

    def _begin(self, link: Link) -> None:
        self._first = link.number
        # A log that took over lines of an older version says so in its own first one.
        if self._unchained and (link.number, link.outcome) != (1, BEGAN):
            self._note(link.number, f"before line {link.number} are lines that Toolcrib did not write")
            self._unchained = 0
        if link.previous is None:
            self._note(link.number, f"what came before line {link.number} in its file was removed")
        else:
            self._number, self._hash = link.number - 1, link.previous
            self._judge(link)

    def _judge(self, link: Link) -> None:
        expected = self._number + 1
        if link.follows(self._number, self._hash):
            if link.outcome == CHANGED:
                self._note(link.number, f"before line {link.number} somebody changed, cut or replaced the log")
            elif link.outcome == UNCONFIRMED:
                self._unconfirmed.append(self._number)
        elif link.number > expected:
            self._note(expected, _missing(expected, link.number - 1))
        elif link.number < expected:
            self._note(link.number, f"line {link.number} comes after line {self._number}")
        else:
            self._note(link.number, f"line {link.number} was changed, or one before it")

    def _foreign(self) -> None:
        if self._first:
            self._note(self._number + 1, f"after line {self._number} is one that Toolcrib did not write")
        else:
            self._unchained += 1

    def _end_without_head(self) -> None:
        if self._first:
            lost = "the file that says where the log ends is missing or damaged"
            self._note(
                self._number + 1, f"{lost}: nobody can tell whether lines after line {self._number} were cut off"
            )

    def _compare(self, ending: int) -> None:
        """Compare the end of the lines with the line that the head knows as the last."""
        beyond = self._number - ending
        if beyond < 0:
            self._note(self._number + 1, _missing(self._number + 1, ending))
        elif not self._has_passed_head:
            self._note(ending, f"line {ending} is not the one that was written: it or lines before it were changed")
        elif beyond == 1:
            self._unconfirmed.append(self._number)
        elif beyond:
            added = f"lines {ending + 1} to {self._number} were added by somebody"
            self._note(ending + 1, f"{added}, or the file that says where the log ends is an older one")

    def _note(self, number: int, what: str) -> None:
        self._breaks.append(Break(number, what))


def _missing(first: int, last: int) -> str:
    return f"line {first} is missing" if first == last else f"lines {first} to {last} are missing"
