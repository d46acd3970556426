"""Errors that reach nobody but the event loop, said briefly and not without end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)

QUIET_SECONDS = 60.0
_MOST_REMEMBERED = 100


class LoopErrors:
    """An exception handler for the loop: one line for each kind of error a minute, with its origin only when debugging.

    asyncio itself writes a traceback each time; where the system runs out of files that is thousands a second.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._told: dict[str, float] = {}

    def __call__(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        what = f"{context.get('message', 'unexpected')}: {error!r}" if error is not None else context.get("message", "")
        if self._now() - self._told.get(what, float("-inf")) < QUIET_SECONDS:
            return
        if len(self._told) >= _MOST_REMEMBERED:
            self._told.clear()
        self._told[what] = self._now()
        log.error("%s", what, exc_info=error if log.isEnabledFor(logging.DEBUG) else None)
