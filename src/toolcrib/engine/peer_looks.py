"""Looks at peers that run at the same time, no more than there is room for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import nullcontext
from typing import Any, Literal

from toolcrib.errors import ToolcribError

log = logging.getLogger(__name__)

Standing = Literal["there", "visitor", "hearsay"]
"""What is known of a peer: it answered lately, it came here itself, or somebody else spoke of it"""

# How many are looked at at once, apart from each other: no number of announcements of nobody holds up those that are there,
# or that come themselves.
MOST_LOOKS: Mapping[Standing, int] = {"there": 8, "visitor": 4, "hearsay": 4}


class PeerLooks:
    """One look for each key at a time; `when_ended` is called after each. Belongs to the event loop."""

    def __init__(self, when_ended: Callable[[], None]) -> None:
        self._when_ended = when_ended
        self._running: dict[str, asyncio.Task[None]] = {}
        self._slots = {standing: asyncio.Semaphore(most) for standing, most in MOST_LOOKS.items()}

    def start(self, key: str, work: Coroutine[Any, Any, None], standing: Standing) -> None:
        """Look as soon as there is room; unless that look is under way."""
        self._start(key, work, self._slots[standing])

    def start_at_once(self, key: str, work: Coroutine[Any, Any, None]) -> None:
        """The same for what a person wrote: strangers can't keep it waiting."""
        self._start(key, work, None)

    async def settle(self) -> None:
        """Wait until every look that was started has ended."""
        while self._running:
            await asyncio.wait(set(self._running.values()))

    async def close(self) -> None:
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _start(self, key: str, work: Coroutine[Any, Any, None], slots: asyncio.Semaphore | None) -> None:
        if key in self._running:
            work.close()
            return
        task = asyncio.create_task(_in_turn(work, slots))
        self._running[key] = task
        task.add_done_callback(lambda _: self._ended(key))

    def _ended(self, key: str) -> None:
        self._running.pop(key, None)
        self._when_ended()


async def _in_turn(work: Coroutine[Any, Any, None], slots: asyncio.Semaphore | None) -> None:
    try:
        async with slots or nullcontext():
            await work
    except ToolcribError as problem:
        log.debug("a look at a peer failed: %s", problem.message)
    except Exception:
        log.exception("a look at a peer failed unexpectedly")
    finally:
        work.close()
