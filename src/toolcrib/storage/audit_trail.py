"""Reading the audit log: the calls it holds, and those that are added while somebody watches."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

import msgspec

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.errors import ToolcribError

Wanted = Callable[[AuditRecord], bool]

# Longer than any line that is written: the names in one are few and short.
LONGEST_LINE_BYTES = 64 * 1024
# Up to the year 3000; a time outside was not written by a gateway, and calendars end somewhere.
LATEST = 32_503_680_000


class AuditTrail:
    """The records in all files of a log, rotated ones too; other processes may write meanwhile.

    Rotation gives files other names; what was read of them stays read. Files are known by their inode, and by their first
    line, since a new file often gets the inode of one that was deleted. None is kept open: Windows would refuse to rotate it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_to: dict[tuple[int, bytes], int] = {}

    def last(self, wanted: Wanted, count: int | None = None, since: float = 0.0) -> list[AuditRecord]:
        """The last `count` records that are wanted, the newest at the end; all where no count is given.

        `since` only saves work: a file that was last written before it is not read.
        """
        found: list[AuditRecord] = []
        for file in reversed(files_of_log(self._path)):
            missing = None if count is None else count - len(found)
            lines = self._new_lines(file, skip=missing == 0 or _written_at(file) < since)
            found += islice(filter(wanted, _records(reversed(lines))), missing)
        return found[::-1]

    def new(self, wanted: Wanted) -> list[AuditRecord]:
        """The records that were added since the last look, and are wanted."""
        added = (record for file in files_of_log(self._path) for record in _records(self._new_lines(file)))
        return list(filter(wanted, added))

    def _new_lines(self, file: Path, *, skip: bool = False) -> list[bytes]:
        """The whole lines of a file behind what was read of it; `skip` counts them as read."""
        if not file.is_file():
            return []
        try:
            with file.open("rb") as opened:
                status = os.fstat(opened.fileno())
                known_as = (status.st_ino, opened.readline(LONGEST_LINE_BYTES))
                begin = opened.seek(status.st_size if skip else min(self._read_to.get(known_as, 0), status.st_size))
                read = opened.read()
                lines = read[: read.rfind(b"\n") + 1]
                self._read_to[known_as] = begin + len(lines)
        except FileNotFoundError:
            return []  # rotated away just now
        except OSError as problem:
            raise _unreadable(file, problem) from problem
        return lines.splitlines()


def files_of_log(path: Path) -> list[Path]:
    """From the oldest to the newest; rotation gives the oldest file the highest number."""
    folder, name = path.parent, re.compile(rf"{re.escape(path.name)}(?:\.(\d+))?")
    try:
        matches = [found for found in (name.fullmatch(file.name) for file in folder.iterdir()) if found]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        raise _unreadable(folder, problem) from problem
    return [folder / found[0] for found in sorted(matches, key=lambda found: -int(found[1] or 0))]


def _unreadable(path: Path, problem: OSError) -> ToolcribError:
    return ToolcribError(f"{path} can't be read: {problem.strerror}")


def _written_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


class _Line(msgspec.Struct, rename="camel"):
    """A line as `AuditFile` writes it."""

    time: datetime
    caller: str
    face: str
    server: str
    tool: str
    argument_names: tuple[str, ...]
    outcome: str
    duration_ms: float
    argument_bytes: int
    result_bytes: int
    questions: int = 0
    effect: str = ""
    decision: str = ""
    rights: str = ""
    fingerprint: str = ""
    findings: str = ""
    reason: str = ""
    number: int = msgspec.field(name="n", default=0)


_decode = msgspec.json.Decoder(_Line).decode


def _records(lines: Iterable[bytes]) -> Iterator[AuditRecord]:
    """What can be read of these lines; others are not ours, or were torn when a disk was full."""
    for line in lines:
        try:
            fields = msgspec.structs.asdict(_decode(line))
            at = fields["time"].timestamp()
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
            continue
        if 0 <= at < LATEST:
            yield AuditRecord(**{**fields, "time": at})
