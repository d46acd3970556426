"""Where the gateway may connect to when the address comes from someone unknown."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from toolcrib.errors import ValidationError
from toolcrib.model.addresses import is_public_address
from toolcrib.model.server import RemoteLaunch, ServerSpec

Resolve = Callable[[str, int], Awaitable[Iterable[str]]]

_LOWEST_FREE_PORT = 1024
_WEB_PORTS = frozenset({80, 443})
_HINT = "Only a person can add such a server: toolcrib add NAME URL."


async def check_outbound(url: str, specs: Mapping[str, ServerSpec], *, resolve: Resolve | None = None) -> list[str]:
    """Where an address that nobody has approved leads; it is refused unless it is encrypted, public and on a usual port.

    A host and port that a configured server has may lead anywhere (nothing is looked up then): the person chose it.
    """
    try:
        parts = urlsplit(url)
        port = _port(parts)
    except ValueError:
        raise ValidationError("that is not an address", hint="Give one such as https://example.com/mcp.") from None
    if (parts.hostname, port) in _chosen(specs):
        return []
    _check_shape(parts, port)
    assert parts.hostname is not None
    addresses = list(await (resolve or addresses_of)(parts.hostname, port))
    if not addresses:
        raise ValidationError(f"the host {parts.hostname} has no address")
    if not all(map(is_public_address, addresses)):
        raise ValidationError(f"{parts.hostname} is not on the public internet", hint=_HINT)
    return addresses


def _check_shape(parts: SplitResult, port: int) -> None:
    if parts.username is not None or parts.password is not None:
        raise ValidationError("an address with a name or password in it is not asked", hint=_HINT)
    if parts.scheme != "https" or not parts.hostname:
        raise ValidationError("only https addresses are asked before a person has approved them", hint=_HINT)
    if port < _LOWEST_FREE_PORT and port not in _WEB_PORTS:
        raise ValidationError(f"port {port} is not a usual port for such a server", hint=_HINT)


def _chosen(specs: Mapping[str, ServerSpec]) -> set[tuple[str | None, int]]:
    found = set()
    for spec in specs.values():
        if isinstance(spec.launch, RemoteLaunch):
            with suppress(ValueError):
                parts = urlsplit(spec.launch.url)
                found.add((parts.hostname, _port(parts)))
    return found


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


async def addresses_of(host: str, port: int) -> list[str]:
    """Where a host name leads now; nowhere if it is not known."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(entry[4][0]) for entry in found]
