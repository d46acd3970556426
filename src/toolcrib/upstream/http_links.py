"""Links over HTTP, which share one client; loaded when the first server needs one, since the HTTP stack is large."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import httpx2

from toolcrib.masking.masker import Masker
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.signin.record import SignIn
from toolcrib.signin.store import SignInStore
from toolcrib.upstream.bearers import Bearers
from toolcrib.upstream.http_client import Bearer, open_http_client, request_timeout
from toolcrib.upstream.link import Link, LinkEars, TransportLimits
from toolcrib.upstream.sse import LegacySseLink
from toolcrib.upstream.streamable_http import StreamableHttpLink


class HttpLinks:
    """Opens links to servers that are reached by address; `sign_ins` are those a person has made to such servers."""

    def __init__(self, user_agent: str, sign_ins: SignInStore | None = None) -> None:
        self._user_agent = user_agent
        self._bearers = Bearers(sign_ins) if sign_ins is not None else None
        self._client: httpx2.AsyncClient | None = None
        # For servers that nobody has approved: where each host may be reached.
        self._strangers: httpx2.AsyncClient | None = None
        self._checked: dict[tuple[str, int], Sequence[str]] = {}
        self._making_client = asyncio.Lock()

    async def open(
        self,
        server: str,
        launch: RemoteLaunch,
        headers: Mapping[str, str],
        ears: LinkEars,
        limits: TransportLimits,
        bearer: Bearer | None = None,
    ) -> Link:
        client = await self._client_for(launch, limits.connect_seconds)
        if launch.transport == "sse":
            return await LegacySseLink.open(
                server,
                launch.url,
                headers,
                client=client,
                ears=ears,
                max_body_bytes=limits.max_body_bytes,
                connect_seconds=limits.connect_seconds,
                bearer=bearer,
            )
        return await StreamableHttpLink.open(
            server,
            launch.url,
            headers,
            client=client,
            ears=ears,
            max_body_bytes=limits.max_body_bytes,
            bearer=bearer,
        )

    async def bearer(
        self,
        spec: ServerSpec,
        launch: RemoteLaunch,
        limits: TransportLimits,
        masker: Masker,
        sign_in_alone: Callable[[ServerSpec], Awaitable[SignIn]] | None,
    ) -> Bearer | None:
        """Who signs in to this server; `masker` hears of its tokens."""
        if self._bearers is None:
            return None
        alone = None
        if spec.oauth.grant == "client_credentials" and sign_in_alone is not None:
            alone = partial(sign_in_alone, spec)
        bearer = await self._bearers.get(
            spec.name,
            launch.url,
            spec.oauth.account,
            limits.connect_seconds,
            alone,
        )
        bearer.cover_in(masker)
        return bearer

    async def close(self) -> None:
        """Free the client; every link must be closed before."""
        if self._bearers is not None:
            await self._bearers.close()
        clients, self._client, self._strangers = (self._client, self._strangers), None, None
        for client in clients:
            if client is not None:
                await client.aclose()

    async def _client_for(self, launch: RemoteLaunch, connect_seconds: float) -> httpx2.AsyncClient:
        if not launch.addresses:
            return await self._http_client(connect_seconds)
        url = httpx2.URL(launch.url)
        self._checked[url.raw_host.decode(), url.port or (443 if url.scheme == "https" else 80)] = launch.addresses
        async with self._making_client:
            if self._strangers is None:
                self._strangers = await asyncio.to_thread(
                    open_http_client,
                    user_agent=self._user_agent,
                    connect_seconds=connect_seconds,
                    places=self._where_checked,
                )
        return self._strangers

    async def _where_checked(self, host: str, port: int) -> Sequence[str]:
        return self._checked.get((host, port), ())

    async def _http_client(self, connect_seconds: float) -> httpx2.AsyncClient:
        # Made on first need, in a thread: loading certificates takes tens of milliseconds.
        async with self._making_client:
            if self._client is None:
                self._client = await asyncio.to_thread(
                    open_http_client, user_agent=self._user_agent, connect_seconds=connect_seconds
                )
        self._client.timeout = request_timeout(connect_seconds)
        return self._client
