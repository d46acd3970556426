"""Watching something that grows, until the person or the reader of our output has seen enough."""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TypeVar

PAUSE_SECONDS = 0.2

Item = TypeVar("Item")


def follow(look: Callable[[], Sequence[Item]], out: IO[str]) -> Iterator[Item]:
    """What each look finds, for ever; BrokenPipeError as soon as nobody reads `out` any more, even if nothing is found."""
    pause = _pause_of(out)
    while True:
        yield from look()
        out.flush()
        pause()


def _pause_of(out: IO[str]) -> Callable[[], None]:
    """A pause that a reader's leaving ends; where that can't be watched, the next write notices."""
    try:
        descriptor = out.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return _sleep
    if not (hasattr(select, "poll") and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))):
        return _sleep
    poll = select.poll()
    poll.register(descriptor, 0)  # a closed pipe is reported whatever was asked for

    def wait() -> None:
        if poll.poll(PAUSE_SECONDS * 1000):
            raise BrokenPipeError

    return wait


def _sleep() -> None:
    time.sleep(PAUSE_SECONDS)
