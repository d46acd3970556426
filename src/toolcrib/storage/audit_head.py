"""The file that says where the audit log ends; who holds its lock may add to the log."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

from toolcrib.storage.audit_chain import PACKED_BYTES, Head, unpacked
from toolcrib.storage.file_lock import release, take

_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# A line takes some 30 µs: most waits end before a pause is worth it.
_EAGER_TRIES = 20
_PAUSE_SECONDS = 0.0005


class AuditHead:
    """One per process and log; used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._opened_by = 0

    def take(self, wait_seconds: float) -> None:
        """Take the lock between processes; OSError where another one holds it for longer than that."""
        while True:
            # A forked child would share the lock with its parent.
            if self._descriptor < 0 or self._opened_by != os.getpid():
                self._descriptor, self._opened_by = _opened(self._path), os.getpid()
            _take_within(wait_seconds, self._descriptor)
            if os.fstat(self._descriptor).st_nlink:
                return
            # Somebody deleted the file: others would lock the new one.
            self.close()

    def release(self) -> None:
        release(self._descriptor)

    def read(self) -> Head | None:
        """Where the log ends; None where nobody wrote that down."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return unpacked(os.read(self._descriptor, PACKED_BYTES))

    def write(self, head: Head) -> None:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, head.packed())

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _opened(path: Path) -> int:
    try:
        return os.open(path, _OPEN, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, _OPEN, 0o600)


def _take_within(seconds: float, descriptor: int) -> None:
    for tries in range(_EAGER_TRIES + int(seconds / _PAUSE_SECONDS)):
        try:
            take(descriptor)
            return
        except (BlockingIOError, PermissionError):
            time.sleep(0 if tries < _EAGER_TRIES else _PAUSE_SECONDS)
    raise OSError(errno.EAGAIN, "another process has held its lock for too long")
