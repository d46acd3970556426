"""Connections to names that others gave us: the address that was checked is the address connected to."""

from __future__ import annotations

import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore2
import httpx2

# Where a host may be reached at a port. Raises where it may not be reached at all.
Places = Callable[[str, int], Awaitable[Sequence[str]]]

_MOST_ADDRESSES = 6


def check_connections(client: httpx2.AsyncClient, places: Places, verify: ssl.SSLContext) -> httpx2.AsyncClient:
    """Let a client, before its first request, connect only where `places` says.

    Requests through a proxy of the environment are left alone: there the proxy looks the name up.
    """
    # A client takes either a transport of ours or the proxies of the environment; this way it has both.
    client._transport = _CheckedTransport(places, verify)  # noqa: SLF001
    return client


class _CheckedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, places: Places, verify: ssl.SSLContext) -> None:
        super().__init__(verify=verify, trust_env=False)
        # The address must not be put into the URL instead: connections to one address would be shared by all names there,
        # and only the certificate of the first would be checked.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=verify,
            # As many as are needed: ten servers that never answer must not keep the eleventh waiting.
            max_connections=None,
            max_keepalive_connections=20,
            keepalive_expiry=30.0,
            network_backend=CheckedBackend(places),
        )


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Looks a name up once, and connects to an address that it was told; TLS still gets the name."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the name is httpcore2's)
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = list(dict.fromkeys(await self._places(host, port)))[:_MOST_ADDRESSES]
        deadline = None if timeout is None else time.monotonic() + timeout
        for place, address in enumerate(addresses, 1):
            # The first ones leave some of the time to the others.
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) / (len(addresses) - place + 1)
            try:
                return await self._network.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if place == len(addresses):
                    raise
        raise httpcore2.ConnectError(f"{host} has no address")
