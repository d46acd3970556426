"""Plain GET requests with the settings all our HTTP has: proxies, certificates, redirects within the origin only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import httpx2

from toolcrib.errors import CallTimeout
from toolcrib.model.web import WebAnswer
from toolcrib.upstream.http_client import HttpAddress, open_http_client
from toolcrib.upstream.http_errors import retry_after_seconds, translated


class WebReader:
    """Reads documents of at most `max_bytes`, each within `seconds`."""

    def __init__(
        self, client: httpx2.AsyncClient, *, seconds: float, max_bytes: int, now: Callable[[], float] = time.time
    ) -> None:
        self._client = client
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._now = now

    async def get(self, url: str, headers: Mapping[str, str]) -> WebAnswer:
        """The answer whatever its status; raises ServerConnectionError or CallTimeout where there was none."""
        address = HttpAddress("the registry", url, headers, client=self._client, now=self._now)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._read(address)
        except TimeoutError:
            raise CallTimeout(
                f"{address.url.host} did not answer within {self._seconds:g} s",
                server=address.server,
                hint="Try again later, or raise callTimeout.",
            ) from None

    async def _read(self, address: HttpAddress) -> WebAnswer:
        reply = await address.send("GET", {"accept": "application/json"})
        try:
            with translated(address.server, address.url):
                body = await reply.beginning(self._max_bytes + 1)
        finally:
            await reply.close()
        received = reply.response
        return WebAnswer(
            received.status_code,
            body[: self._max_bytes],
            etag=received.headers.get("etag", ""),
            retry_after_seconds=retry_after_seconds(received.headers, self._now()),
            is_cut=len(body) > self._max_bytes,
        )


@asynccontextmanager
async def open_web(
    *, user_agent: str, connect_seconds: float, seconds: float, max_bytes: int
) -> AsyncIterator[WebReader]:
    """A reader with a client of its own, closed when the block ends."""
    # Loading certificates takes tens of milliseconds.
    client = await asyncio.to_thread(open_http_client, user_agent=user_agent, connect_seconds=connect_seconds)
    async with client:
        yield WebReader(client, seconds=seconds, max_bytes=max_bytes)
