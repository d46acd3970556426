"""What a client hears while its call runs: progress and log messages, filtered as it asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from toolcrib.model.call import CallEvent, LogMessage
from toolcrib.model.nesting import deeper_than
from toolcrib.wire.protocol import LOG_LEVEL_META_KEY, LOG_LEVELS

DEFAULT_LEVEL = "info"
# What a server may say before its client has taken it.
MOST_UNHEARD_BYTES = 16 * 1024 * 1024
_EVENT_BYTES = 256

_encode = msgspec.json.Encoder().encode


class Unheard:
    """Events in their order, until the client takes them. If it takes none, further ones are left out: a server may say much."""

    def __init__(self, most_nested: int) -> None:
        self._most_nested = most_nested
        self._events: asyncio.Queue[tuple[CallEvent | None, int]] = asyncio.Queue()
        self._bytes = 0

    def put(self, event: CallEvent) -> None:
        if deeper_than(event.params, self._most_nested):
            return  # nobody could write it
        size = len(_encode(event.params)) + _EVENT_BYTES
        if not self._bytes or self._bytes + size <= MOST_UNHEARD_BYTES:
            self._bytes += size
            self._events.put_nowait((event, size))

    def end(self) -> None:
        self._events.put_nowait((None, 0))

    async def get(self) -> CallEvent | None:
        """The next event; None after the last."""
        event, size = await self._events.get()
        self._bytes -= size
        return event


def wanted_level(meta: Mapping[str, Any], session_level: str | None, *, modern: bool) -> str | None:
    """The lowest level this request asks for; the modern era hears nothing unless it asks."""
    if modern:
        level = meta.get(LOG_LEVEL_META_KEY)
        return level if level in LOG_LEVELS else None
    return session_level or DEFAULT_LEVEL


def passes(event: LogMessage, level: str | None) -> bool:
    """Whether a log message is at or above the level asked for; an unknown level is let through."""
    said = event.params.get("level")
    if level is None:
        return False
    return said not in LOG_LEVELS or LOG_LEVELS.index(str(said)) >= LOG_LEVELS.index(level)
