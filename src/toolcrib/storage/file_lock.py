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

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


_PAUSE_SECONDS = 0.01


@contextmanager
def file_lock(path: Path, *, wait_seconds: float = 0.0) -> Iterator[bool]:
    """Hold the lock file `path`; yields False when it was not free within `wait_seconds`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        yield _taken_in_time(descriptor, wait_seconds)
    finally:
        os.close(descriptor)


def _taken_in_time(descriptor: int, wait_seconds: float) -> bool:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            _take(descriptor)
            return True
        except (BlockingIOError, PermissionError):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
