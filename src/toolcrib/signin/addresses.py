"""Which addresses a sign-in may use: those that a server names itself are foreign words, and may lead anywhere."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

from toolcrib.model.addresses import is_public_address

_LOWEST_FREE_PORT = 1024
_WEB_PORTS = frozenset({80, 443})
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class AddressRefused(Exception):
    """An address that a sign-in does not use; says why, without the address itself."""


def check_shape(url: str, resource: str) -> tuple[str, int]:
    """The host and port of an address that may be used for a sign-in at `resource`, as far as its text tells."""
    try:
        parts, own = urlsplit(url), urlsplit(resource)
        host, port = parts.hostname, port_of(parts)
    except ValueError:
        raise AddressRefused("an address in its metadata is not one") from None
    if not host or any(character.isspace() or not character.isprintable() for character in url):
        raise AddressRefused("an address in its metadata is not one")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused(f"an address at {host} has a name or password in it")
    _check_scheme(parts, own)
    if port < _LOWEST_FREE_PORT and port not in _WEB_PORTS and port != port_of(own):
        raise AddressRefused(f"port {port} of {host} is not a usual one for such a service")
    return host, port


def check_place(host: str, addresses: Iterable[str], own_addresses: Iterable[str]) -> None:
    """Refuse a host inside a network that the server itself is not in; `own_addresses` are those of the server.

    Link-local addresses, where machines in a cloud are told their secrets, are refused in any case.
    """
    found, own = list(addresses), list(own_addresses)
    inside = [address for address in found if not is_public_address(address)]
    if any(_is_link_local(address) for address in inside):
        raise AddressRefused(f"{host} is an address for this machine's own network only")
    if inside and not any(not is_public_address(address) for address in own):
        raise AddressRefused(f"{host} leads into your own network, while the server is outside of it")


def port_of(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _check_scheme(parts: SplitResult, own: SplitResult) -> None:
    if parts.scheme == "https":
        return
    if parts.scheme != "http":
        raise AddressRefused("an address in its metadata is neither https nor http")
    is_beside = parts.hostname == own.hostname or {parts.hostname, own.hostname} <= _LOOPBACK_NAMES
    if own.scheme != "http" or not is_beside:
        raise AddressRefused(f"{parts.hostname} is not reached over https")


def _is_link_local(address: str) -> bool:
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_link_local
