"""The lock that Claude Code takes for each write of its file: a folder beside it, which only one program can make."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolcrib.adoption.steps import trouble

# Claude Code renews its lock all the time, and takes over one that is older than this.
_STALE_SECONDS = 10.0
_WAIT_SECONDS = 15.0
_LOOK_SECONDS = 0.02


@contextmanager
def claude_locked(path: Path, wait_seconds: float = _WAIT_SECONDS) -> Iterator[None]:
    """While this is held, Claude Code does not write the file; it reads it anew before it writes again."""
    folder = path.with_name(f"{path.name}.lock")
    _take(folder, path, wait_seconds)
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()


def _take(folder: Path, path: Path, wait_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        with suppress(FileExistsError):
            folder.mkdir()
            return
        if _is_stale(folder):
            with suppress(OSError):
                folder.rmdir()
        elif time.monotonic() > deadline:
            raise trouble(path, f"Claude Code keeps it locked ({folder.name}); close Claude Code and try again")
        time.sleep(_LOOK_SECONDS)


def _is_stale(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > _STALE_SECONDS
    except OSError:
        return False
