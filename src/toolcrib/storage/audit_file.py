"""The audit log as chained lines of JSON in a few files of bounded size."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count, takewhile
from pathlib import Path

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.storage.audit_chain import NOWHERE, Head
from toolcrib.storage.audit_fields import fields_of
from toolcrib.storage.audit_head import AuditHead
from toolcrib.storage.audit_oldest import first_line_kept, first_line_of
from toolcrib.storage.audit_takeover import end_of_log

# How long a line waits for other processes; one that was stopped within a line must not stop the calls of all.
LOCK_SECONDS = 0.1
_LOCK_SECONDS_AGAIN = 0.002
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Windows lets nobody rename a file that a process has open.
_KEEPS_OPEN = sys.platform != "win32"
_APPEND = (
    os.O_RDWR
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)


class AuditFile:
    """Fulfils `AuditLog`; several processes may write to the same files, and all their lines are one chain.

    The newest records are in `path`, older ones in `path.1` and so on, `files` of them in all; `path.head` says where
    the chain ends. `on_trouble` hears once when records can no longer be written, and once when they can again.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = 10 * 1024 * 1024,
        files: int = 5,
        on_trouble: Callable[[str], None],
    ) -> None:
        self._path = path
        self._head = AuditHead(head_path(path))
        self._on_trouble = on_trouble
        self._lock = threading.Lock()
        self._unrecorded = 0
        # Whether files are gone, and the line that is to say so could not be written.
        self._owes_oldest = False
        # Open from one line to the next; where the last one of ours ended is known then, and remembered.
        self._log, self._end, self._known = -1, NOWHERE, NOWHERE
        self.configure(max_bytes=max_bytes, files=files)

    def configure(self, *, max_bytes: int, files: int) -> None:
        """Let other limits hold from the next record on; the next rotation deletes files beyond a smaller number."""
        if files < 2:
            raise ValueError("files must be at least 2: the one written to and one before it")
        with self._lock:
            self._files = files
            self._max_bytes = max_bytes

    def append(self, record: AuditRecord) -> bool:
        with self._lock:
            try:
                self._head.take(_LOCK_SECONDS_AGAIN if self._unrecorded else LOCK_SECONDS)
                try:
                    self._write(record)
                finally:
                    self._head.release()
            except OSError as error:
                self._failed(error)
                return False
            self._succeeded()
            return True

    def close(self) -> None:
        with self._lock:
            self._close_log()
            self._head.close()

    def _write(self, record: AuditRecord) -> None:
        fields = fields_of(record, self._unrecorded)
        try:
            if not self._wrote(record.time, fields, self._max_bytes):
                self._close_log()
                self._rotate()
                self._wrote(record.time, fields, sys.maxsize)
        except OSError:
            self._close_log()
            raise
        if not _KEEPS_OPEN:
            self._close_log()

    def _wrote(self, time: float, fields: bytes, max_bytes: int) -> bool:
        """Add a line; False where the file is too full for it."""
        head = self._end if self._is_ours_the_end() else self._opened(time)
        line, after = self._sealed(head, fields)
        fits = after.size <= max_bytes or not head.size
        if fits:
            self._add(head, line, after)
        return fits

    def _sealed(self, head: Head, fields: bytes) -> tuple[bytes, Head]:
        return head.sealed(fields, 0 if head.size else self._oldest_kept())

    def _is_ours_the_end(self) -> bool:
        """Whether the log is still as our last line left it: nobody has written since, rotated or deleted it."""
        try:
            return self._log >= 0 and self._end.is_end_of(os.lstat(self._path))
        except FileNotFoundError:
            return False

    def _opened(self, time: float) -> Head:
        """Open the log anew, and say where it ends."""
        self._close_log()
        self._log = os.open(self._path, _APPEND, 0o600)
        head = self._head.read()
        if head is not None and head.is_end_of(os.fstat(self._log)):
            return head
        end, happened = end_of_log(self._log, head, self._place(1), self._known)
        # Before the next line: whoever is killed right after it, or rotates, leaves what continues the head.
        self._head.write(end)
        if not happened:
            return end
        end = _on_new_line(self._log, end)
        line, after = self._sealed(end, fields_of(_own_record(time, happened)))
        self._add(end, line, after)
        return after

    def _add(self, before: Head, line: bytes, after: Head) -> None:
        begins_file = not before.size
        try:
            _append_whole(self._log, line)
        except OSError as error:
            if not begins_file or error.errno not in _FULL or not self._drop_beyond():
                raise
            self._owes_oldest = True
            _append_whole(self._log, line)
        self._head.write(after)
        self._end = self._known = after
        if begins_file:
            # Not before the line that says so is there, if that can be: a kill would make it look as if somebody took them.
            self._owes_oldest = False
            self._drop_beyond()

    def _close_log(self) -> None:
        if self._log >= 0:
            os.close(self._log)
            self._log, self._end = -1, NOWHERE

    def _rotate(self) -> None:
        """Move every file one place on, up to the first free one; the lock is ours."""
        # Windows refuses while another process has the file open; the next record tries again.
        with suppress(OSError):
            free = next(place for place in count(1) if not self._place(place).exists())
            for place in range(free, 0, -1):
                os.replace(self._place(place - 1), self._place(place))

    def _place(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _beyond(self) -> list[Path]:
        """What no place is for: of the last rotation, or of a larger number of files."""
        return list(takewhile(Path.exists, map(self._place, count(self._files))))

    def _oldest_kept(self) -> int:
        """The number of the first line that stays when a new file begins: what others take away must stay missing."""
        before = 0 if self._owes_oldest or self._beyond() else first_line_kept(self._place(1))
        stays = map(self._place, range(self._files - 1, 0, -1))
        return before or next(filter(None, map(first_line_of, stays)), 0)

    def _drop_beyond(self) -> bool:
        """Whether something was deleted; the oldest goes first, so that a kill tears no gap."""
        has_dropped = False
        with suppress(OSError):
            for file in reversed(self._beyond()):
                file.unlink()
                has_dropped = True
        return has_dropped

    def _failed(self, error: OSError) -> None:
        self._unrecorded += 1
        if self._unrecorded == 1:
            self._tell(f"calls are not being recorded: {self._path} cannot be written: {error.strerror or error}")

    def _succeeded(self) -> None:
        if self._unrecorded:
            missed, self._unrecorded = self._unrecorded, 0
            self._tell(f"calls are recorded again in {self._path}; {missed} could not be recorded")

    def _tell(self, message: str) -> None:
        # The listener's own trouble must not stop a call either.
        with suppress(Exception):
            self._on_trouble(message)


def head_path(log: Path) -> Path:
    """The file that says where this log ends."""
    return log.with_name(f"{log.name}.head")


def _own_record(time: float, happened: str) -> AuditRecord:
    """What the log says about itself."""
    return AuditRecord(time, "toolcrib", "", "", "", (), happened, 0.0, 0, 0)


def _on_new_line(log: int, head: Head) -> Head:
    """End a torn line, so that the next one begins where a line does."""
    if not head.size:
        return head
    os.lseek(log, -1, os.SEEK_END)
    if os.read(log, 1) == b"\n":
        return head
    _append_whole(log, b"\n")
    return head.in_file(os.fstat(log))


def _append_whole(descriptor: int, line: bytes) -> None:
    written = os.write(descriptor, line)
    if written == len(line):
        return
    # The disk filled up within the line: take the piece back, unless someone has written after it.
    end = os.lseek(descriptor, 0, os.SEEK_CUR)
    if os.fstat(descriptor).st_size == end:
        os.ftruncate(descriptor, end - written)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
