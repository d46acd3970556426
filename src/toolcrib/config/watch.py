"""Notice edits of configuration files by looking at them, without threads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path

# A shorter interval is noticed after this time at the latest.
LONGEST_WAIT_SECONDS = 1.0

Signature = tuple[int, int, int] | None


def signature(paths: Iterable[Path]) -> dict[Path, Signature]:
    """What each file looks like from outside; a rewrite, a replacement or a new file changes it, None is no file."""
    return {path: _stamp(path) for path in paths}


class FileWatch:
    """Compares the files with how they last looked; a change counts once it has held still for one look."""

    def __init__(self, paths: Callable[[], Iterable[Path]]) -> None:
        self._paths = paths
        self._seen = signature(paths())
        self._is_settling = False

    def poll(self) -> bool:
        """Look once; true when files changed since the last true and look the same as at the last look."""
        now = signature(self._paths())
        # A path that was not watched before is no edit: it came with the reading that named it.
        changed = any(self._seen.get(path, stamp) != stamp for path, stamp in now.items())
        settled = self._is_settling and not changed
        self._seen = now
        self._is_settling = changed
        return settled


async def watch_files(
    paths: Callable[[], Iterable[Path]],
    changed: Callable[[], Awaitable[None]],
    *,
    interval_seconds: Callable[[], float],
    stop: asyncio.Event,
) -> None:
    """Call `changed` after edits of the files, until `stop` is set; several edits in a row are one."""
    watch = FileWatch(paths)
    while not await _is_set_within(stop, interval_seconds):
        if watch.poll():
            await changed()


def _stamp(path: Path) -> Signature:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


async def _is_set_within(event: asyncio.Event, seconds: Callable[[], float]) -> bool:
    """Wait for the event as long as `seconds` says, which may say something else meanwhile."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while (left := began + seconds() - loop.time()) > 0:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(left, LONGEST_WAIT_SECONDS)):
                await event.wait()
            return True
    return event.is_set()
