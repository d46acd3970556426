"""The stream on which a server of the handshake era says what belongs to no request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from toolcrib.errors import ServerConnectionError
from toolcrib.upstream.http_client import Reply

log = logging.getLogger(__name__)

_FIRST_WAIT_SECONDS = 1.0
_SHORTEST_WAIT_SECONDS = 0.05
_LONGEST_WAIT_SECONDS = 60.0
_TRY_AGAIN = frozenset({408, 409, 425, 429})


class ListenStream:
    """Keeps one GET stream open, taking it up again where it broke, until the server says it has none."""

    def __init__(
        self,
        open_stream: Callable[[str], Awaitable[Reply]],
        on_message: Callable[[bytes], None],
        max_bytes: int,
    ) -> None:
        self._open_stream = open_stream
        self._on_message = on_message
        self._max_bytes = max_bytes
        self._last_event_id = ""
        self._retry_seconds = _FIRST_WAIT_SECONDS
        self._fruitless = 0

    async def run(self) -> None:
        """Listen until cancelled, or until the server refuses (405 is how most say that they have no such stream)."""
        while True:
            self._fruitless += 1
            try:
                if not await self._listen_once():
                    return
            except ServerConnectionError as problem:
                log.debug("the listening stream broke: %s", problem.message)
            await asyncio.sleep(self._wait_seconds())

    async def _listen_once(self) -> bool:
        """Hand on what comes until the stream ends; False if the server will not open one."""
        reply = await self._open_stream(self._last_event_id)
        try:
            if not reply.ok:
                return reply.response.status_code >= 500 or reply.response.status_code in _TRY_AGAIN
            if not reply.is_event_stream:
                return False
            async with aclosing(reply.events(self._max_bytes)) as events:
                async for event in events:
                    self._fruitless = 0
                    self._last_event_id = event.id
                    if event.retry_seconds is not None:
                        self._retry_seconds = event.retry_seconds
                    if event.data and event.name == "message":
                        self._on_message(event.data)
        finally:
            await reply.close()
        return True

    def _wait_seconds(self) -> float:
        wait = max(self._retry_seconds, _SHORTEST_WAIT_SECONDS) * 2.0 ** min(self._fruitless, 10)
        return min(wait, _LONGEST_WAIT_SECONDS)
