"""A lock between processes, kept by the operating system and so gone with its holder."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    # Windows lets nobody else read a locked byte; this one lies behind everything a holder writes down.
    _LOCKED_BYTE = 1 << 30

    def take(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def release(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def take(descriptor: int) -> None:
        """Lock an open file; BlockingIOError (on Windows PermissionError) where another process has it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


_PAUSE_SECONDS = 0.01
_MOST_HOLDER_BYTES = 200


@contextmanager
def file_lock(path: Path, *, wait_seconds: float = 0.0, holder: str = "") -> Iterator[bool]:
    """Hold the lock file `path`; yields False when it was not free within `wait_seconds`.

    While it is held, others can read with `lock_holder` what was given as `holder`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        is_taken = _taken_in_time(descriptor, wait_seconds)
        if is_taken and holder:
            _write_down(descriptor, holder)
        yield is_taken
    finally:
        os.close(descriptor)


def lock_holder(path: Path) -> str:
    """What the holder of a lock says about itself, or the last one if nobody holds it; empty where nothing was said."""
    try:
        with path.open("rb") as stream:
            return stream.read(_MOST_HOLDER_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _write_down(descriptor: int, holder: str) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, holder.encode()[:_MOST_HOLDER_BYTES])


def _taken_in_time(descriptor: int, wait_seconds: float) -> bool:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            take(descriptor)
            return True
        except (BlockingIOError, PermissionError):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
