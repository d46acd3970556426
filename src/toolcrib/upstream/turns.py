"""Calls that may not run side by side: else nobody could tell whose question it is that the server asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolcrib.errors import CallTimeout


class Turns:
    """One call at a time, in the order in which they came."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def taken(self, seconds: float) -> AsyncIterator[None]:
        """Have the turn; waiting for it spends nothing of the call's own time, but has its end too."""
        try:
            async with asyncio.timeout(seconds):
                await self._turn.acquire()
        except TimeoutError:
            raise CallTimeout(
                f"another call still ran after {seconds:g} s; this one was not sent",
                server=self._server,
                hint="This server asks questions, so one call of a client runs at a time. Answer what it asks, then try again.",
            ) from None
        try:
            yield
        finally:
            self._turn.release()
