"""Which of the addresses that others name we connect to: neighbours, never ourselves and never what only we can reach."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence

from toolcrib.model.addresses import is_public_address
from toolcrib.model.peer import PeerAddress

MOST_ADDRESSES = 4
OwnAddress = ipaddress.IPv4Interface | ipaddress.IPv6Interface
_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
# Where machines in a cloud are told their credentials.
_METADATA = frozenset(map(ipaddress.ip_address, ("169.254.169.254", "fd00:ec2::254")))


def own_addresses(texts: Iterable[str]) -> tuple[OwnAddress, ...]:
    """Our addresses with their networks, from texts such as `10.0.0.5/24`."""
    return tuple(ipaddress.ip_interface(_without_scope(text)) for text in texts)


def nearby(hosts: Iterable[str], port: int, own: Sequence[OwnAddress]) -> tuple[PeerAddress, ...]:
    """Those that a record may name: literal addresses in a network of one of our chosen interfaces."""
    return _bounded((host for host in hosts if _is_neighbour(host, own)), port)


def introduced(hosts: Iterable[str], port: int, own: Sequence[OwnAddress]) -> tuple[PeerAddress, ...]:
    """Those that another peer may name: neighbours, and addresses of the open network."""
    return _bounded((host for host in hosts if is_public_address(host) or _is_neighbour(host, own)), port)


def came_from(host: str, port: int, own: Sequence[OwnAddress]) -> tuple[PeerAddress, ...]:
    """Where a peer that came from `host` can be asked; never this machine itself, unless a person chose that."""
    near = nearby([host], port, own)
    if near or not _is_open_to_peers(port):
        return near
    try:
        is_here = ipaddress.ip_address(_without_scope(host)).is_loopback
    except ValueError:
        return ()
    return () if is_here else (PeerAddress(host, port),)


def reached_at(own: Sequence[OwnAddress], host: str, port: int) -> list[PeerAddress]:
    """Where others can come while we listen at `host`; without one, or at all addresses, each of the chosen interfaces.

    An address that counts on one network cable only is not told: others would need to know which one.
    """
    told = [str(one.ip) for one in own if not one.ip.is_link_local]
    return [PeerAddress(one, port) for one in ([host] if _is_single(host) else told)] if port else []


def _is_single(host: str) -> bool:
    try:
        return not ipaddress.ip_address(_without_scope(host)).is_unspecified
    except ValueError:
        return False  # nothing, or a name


def _bounded(hosts: Iterable[str], port: int) -> tuple[PeerAddress, ...]:
    if not _is_open_to_peers(port):
        return ()
    return tuple(PeerAddress(host, port) for host in dict.fromkeys(hosts))[:MOST_ADDRESSES]


def _is_open_to_peers(port: int) -> bool:
    """Below 1024 are other services of a machine; a peer has no reason to be there but behind the port of HTTPS."""
    return port == 443 or 1024 <= port <= 65_535


def _is_neighbour(host: str, own: Sequence[OwnAddress]) -> bool:
    try:
        ip = ipaddress.ip_address(_without_scope(host))
    except ValueError:
        return False
    if ip.is_unspecified or ip.is_multicast or ip in _METADATA or getattr(ip, "ipv4_mapped", None) is not None:
        return False
    return any(_is_beside(ip, ours) for ours in own)


def _is_beside(ip: _Ip, ours: OwnAddress) -> bool:
    if ip.version != ours.version or ip not in ours.network:
        return False
    # On loopback, if a person chose it, every peer has the same address; elsewhere our own is no neighbour's.
    return ip.is_loopback or (ip != ours.ip and not _is_broadcast(ip, ours))


def _is_broadcast(ip: _Ip, ours: OwnAddress) -> bool:
    return ip.version == 4 and ours.network.num_addresses > 2 and ip == ours.network.broadcast_address


def _without_scope(text: str) -> str:
    address, percent, rest = text.partition("%")
    return address + (f"/{rest.partition('/')[2]}" if percent and "/" in rest else "")
