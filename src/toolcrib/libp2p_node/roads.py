"""Connections to peers, at the addresses that the engine has checked and at no others."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import trio
from libp2p.peer.id import ID
from libp2p.peer.peerinfo import PeerInfo
from multiaddr import Multiaddr

ADDRESS_SECONDS = 5.0
MOST_REMEMBERED = 1024
MOST_TOLD = 8


_NAMED = re.compile(r"/dns(?P<kind>[46]?)/(?P<name>[^/]+)/tcp/(?P<port>\d{1,5})")


class NoRoad(Exception):
    """A peer could not be reached at any of its addresses."""


class Roads:
    """Connects to one address after the other: libp2p itself would try one of them, and then none for a minute."""

    def __init__(self, host: Any) -> None:
        self._host = host
        # By peer, where it may be connected to, and where it is.
        self._addresses: dict[str, tuple[str, ...]] = {}
        self._at: dict[str, str] = {}
        self._dialling: dict[str, trio.Event] = {}
        # Peers that were connected when they were last asked.
        self.connected: set[Any] = set()

    async def connect(self, peer: str, addresses: Sequence[str] = ()) -> str:
        """Be connected; the address where that is, or nothing where the peer came to us."""
        if addresses:
            self._remember(peer, addresses)
        while (under_way := self._dialling.get(peer)) is not None:
            await under_way.wait()
        peer_id = ID.from_base58(peer)
        if peer_id not in self._host.get_connected_peers():
            await self._dial(peer, peer_id)
        self.connected.add(peer_id)
        return self._at.get(peer, "")

    def told_addresses(self, peer: str) -> list[str]:
        """Where a peer that is connected says that it listens."""
        try:
            told = self._host.get_peerstore().addrs(ID.from_base58(peer))
        except Exception:  # noqa: BLE001 - it has said nothing yet
            return []
        return [f"{str(one).partition('/p2p/')[0]}/p2p/{peer}" for one in told[:MOST_TOLD]]

    def _remember(self, peer: str, addresses: Sequence[str]) -> None:
        self._addresses.pop(peer, None)
        self._addresses[peer] = tuple(addresses)
        if len(self._addresses) > MOST_REMEMBERED:
            oldest = next(iter(self._addresses))
            del self._addresses[oldest]
            self._at.pop(oldest, None)

    async def _dial(self, peer: str, peer_id: ID) -> None:
        self._at.pop(peer, None)
        self._dialling[peer] = trio.Event()
        trouble = "no address of it is known"
        try:
            for address in self._addresses.get(peer, ()):
                try:
                    await self._dial_at(peer_id, address)
                    self._at[peer] = address
                    return
                except Exception as problem:  # noqa: BLE001 - it may be at another address
                    trouble = str(problem) or type(problem).__name__
        finally:
            self._dialling.pop(peer).set()
        raise NoRoad(trouble)

    async def _dial_at(self, peer_id: ID, address: str) -> None:
        # What the peer or others told libp2p is forgotten: only this address was checked.
        with suppress(Exception):
            self._host.get_peerstore().clear_addrs(peer_id)
        self._host.get_network().unblock_peer(peer_id)
        with trio.fail_after(ADDRESS_SECONDS):
            place = await _with_literal_host(address.partition("/p2p/")[0])
            await self._host.connect(PeerInfo(peer_id, [Multiaddr(place)]))


async def _with_literal_host(place: str) -> str:
    """A name, which only a person may have written, looked up as the system does it: libp2p asks other servers."""
    named = _NAMED.fullmatch(place)
    if named is None:
        return place
    family = {"4": socket.AF_INET, "6": socket.AF_INET6}.get(named["kind"], socket.AF_UNSPEC)
    found = await trio.socket.getaddrinfo(named["name"], int(named["port"]), family, socket.SOCK_STREAM)
    host = found[0][4][0]
    return f"/{'ip6' if ':' in host else 'ip4'}/{host}/tcp/{named['port']}"
