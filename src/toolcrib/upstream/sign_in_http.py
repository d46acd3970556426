"""The requests of a sign-in: only to addresses that the rules allow, and each bounded in time and size."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

import httpx2

from toolcrib.signin.addresses import check_place, check_shape, port_of
from toolcrib.signin.challenge import Challenge
from toolcrib.upstream.checked_network import Places
from toolcrib.upstream.envelopes import RequestEnvelope
from toolcrib.upstream.http_client import open_http_client
from toolcrib.upstream.outbound import Resolve, addresses_of
from toolcrib.version import VERSION
from toolcrib.wire import jsonrpc
from toolcrib.wire.protocol import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

_REQUEST_SECONDS = 10.0
_MOST_BYTES = 256 * 1024
_MESSAGE_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
# What describes a body that has been unpacked by now.
_UNPACKED = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def sign_in_places(resource: str, resolve: Resolve = addresses_of) -> Places:
    """Where a sign-in at `resource` may connect to; raises AddressRefused."""
    own = urlsplit(resource)
    own_host, own_port = own.hostname or "", port_of(own)

    async def places(host: str, port: int) -> list[str]:
        addresses = list(await resolve(host, port))
        # The person wrote where the server itself is.
        if (host, port) != (own_host, own_port):
            check_place(host, addresses, await resolve(own_host, own_port))
        return addresses

    return places


class SignInHttp:
    """Sends requests on behalf of a sign-in at `resource`; redirects are left to whoever asked.

    Each address is checked before it is asked, and its name is looked up and checked once more when it is connected to.
    """

    def __init__(self, resource: str, *, connect_seconds: float = 10.0, resolve: Resolve = addresses_of) -> None:
        self._resource = resource
        self._connect_seconds = connect_seconds
        self._places = sign_in_places(resource, resolve)
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def check(self, url: str) -> None:
        """Raise AddressRefused for an address that a sign-in does not use."""
        await self._places(*check_shape(url, self._resource))

    async def get(self, url: str) -> httpx2.Response:
        """A document of JSON."""
        client = await self._opened()
        return await self.send(client.build_request("GET", url, headers={"accept": "application/json"}))

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """The whole answer; raises AddressRefused, TimeoutError, ValueError for one that is too large, or what httpx2 raises."""
        await self.check(str(request.url))
        client = await self._opened()
        async with asyncio.timeout(_REQUEST_SECONDS):
            response = await client.send(request, stream=True, auth=None, follow_redirects=False)
            try:
                body = await _bounded(response)
            finally:
                await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _UNPACKED]
        whole = httpx2.Response(response.status_code, headers=headers, content=body, request=request)
        whole.next_request = response.next_request
        return whole

    async def challenge(self, headers: Mapping[str, str]) -> Challenge:
        """What the server says when it is asked without a token; nothing is known where it does not refuse."""
        for hello in _hellos():
            told = await self._refusal({**headers, **hello.headers}, hello.message)
            if told is not None:
                return Challenge.of(told)
        return Challenge()

    async def _refusal(self, headers: Mapping[str, str], message: bytes) -> str | None:
        """The WWW-Authenticate header of a refusal; None for any other answer."""
        client = await self._opened()
        request = client.build_request("POST", self._resource, headers=headers, content=message)
        async with asyncio.timeout(_REQUEST_SECONDS):
            response = await client.send(request, stream=True, auth=None, follow_redirects=False)
            await response.aclose()
        return response.headers.get("www-authenticate", "") if response.status_code in (401, 403) else None

    async def post(self, url: str, form: dict[str, str], headers: dict[str, str]) -> httpx2.Response:
        """The answer to a form."""
        client = await self._opened()
        return await self.send(
            client.build_request("POST", url, data=form, headers={"accept": "application/json", **headers})
        )

    async def _opened(self) -> httpx2.AsyncClient:
        # On first need, in a thread: loading certificates takes tens of milliseconds.
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(
                    open_http_client,
                    user_agent=f"toolcrib/{VERSION}",
                    connect_seconds=self._connect_seconds,
                    places=self._places,
                )
        return self._client


@dataclass(frozen=True, slots=True)
class _Hello:
    """The first words of a client, which run nothing."""

    headers: Mapping[str, str]
    message: bytes


def _hellos() -> Iterator[_Hello]:
    """In both eras: some servers look at the revision first, and only then at who asks."""
    us = {"name": "toolcrib", "version": VERSION}
    envelopes = {
        "server/discover": RequestEnvelope("modern", LATEST_MODERN_VERSION, us),
        "initialize": RequestEnvelope("legacy", LATEST_HANDSHAKE_VERSION, us),
    }
    for method, envelope in envelopes.items():
        is_handshake = method == "initialize"
        said = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": us}
        message = jsonrpc.request(1, method, envelope.params(said if is_handshake else {}))
        yield _Hello({**_MESSAGE_HEADERS, **({} if is_handshake else envelope.headers(method))}, message)


async def _bounded(response: httpx2.Response) -> bytes:
    parts, size = [], 0
    async for chunk in response.aiter_bytes():
        parts.append(chunk)
        size += len(chunk)
        if size > _MOST_BYTES:
            raise ValueError(f"an answer of {response.request.url.host} is larger than {_MOST_BYTES} bytes")
    return b"".join(parts)
