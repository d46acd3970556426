"""Links over HTTP, which share one client; loaded when the first server needs one, since the HTTP stack is large."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import httpx2

from toolcrib.model.server import RemoteLaunch
from toolcrib.upstream.http_client import open_http_client, request_timeout
from toolcrib.upstream.link import Link, LinkEars, TransportLimits
from toolcrib.upstream.sse import LegacySseLink
from toolcrib.upstream.streamable_http import StreamableHttpLink


class HttpLinks:
    """Opens links to servers that are reached by address."""

    def __init__(self, user_agent: str) -> None:
        self._user_agent = user_agent
        self._client: httpx2.AsyncClient | None = None
        self._making_client = asyncio.Lock()

    async def open(
        self,
        server: str,
        launch: RemoteLaunch,
        headers: Mapping[str, str],
        ears: LinkEars,
        limits: TransportLimits,
    ) -> Link:
        client = await self._http_client(limits.connect_seconds)
        if launch.transport == "sse":
            return await LegacySseLink.open(
                server,
                launch.url,
                headers,
                client=client,
                ears=ears,
                max_body_bytes=limits.max_body_bytes,
                connect_seconds=limits.connect_seconds,
            )
        return await StreamableHttpLink.open(
            server,
            launch.url,
            headers,
            client=client,
            ears=ears,
            max_body_bytes=limits.max_body_bytes,
        )

    async def close(self) -> None:
        """Free the client; every link must be closed before."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _http_client(self, connect_seconds: float) -> httpx2.AsyncClient:
        # Made on first need, in a thread: loading certificates takes tens of milliseconds.
        async with self._making_client:
            if self._client is None:
                self._client = await asyncio.to_thread(
                    open_http_client, user_agent=self._user_agent, connect_seconds=connect_seconds
                )
        self._client.timeout = request_timeout(connect_seconds)
        return self._client
