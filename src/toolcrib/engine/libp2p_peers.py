"""Peers that are reached over libp2p: found, asked for their cards, and spoken to; who is trusted is decided elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL, Libp2pProcess
from toolcrib.model.peer import FoundBy, KnownPeer, Sighting
from toolcrib.peers.addresses import OwnAddress
from toolcrib.peers.multiaddresses import usable_multiaddresses
from toolcrib.upstream.libp2p_link import Libp2pLink

CONNECT_SECONDS = 10.0
CARD_SECONDS = 10.0


class Libp2pPeers:
    """Fulfils `CardStreams` and `PeerLinks` with a node; what it finds is told to `seen`. Belongs to the event loop."""

    def __init__(
        self,
        process: Libp2pProcess,
        *,
        seen: Callable[[Sighting], None],
        own_card: Callable[[], bytes],
        own_addresses: Callable[[], Sequence[OwnAddress]],
    ) -> None:
        self._process = process
        self._seen = seen
        self._own_card = own_card
        self._own_addresses = own_addresses
        process.on_found = self.found

    @property
    def addresses(self) -> Sequence[str]:
        """Where peers reach us; none where we do not listen."""
        return self._process.addresses

    def found(self, peer_id: str, addresses: Sequence[str], by: str) -> None:
        """Somebody says that a peer is there: only what may be connected to is told on."""
        is_far = by == "dht"
        usable = usable_multiaddresses(addresses, peer_id, self._own_addresses(), may_be_far=is_far)
        way: FoundBy = "dht" if is_far else "libp2p"
        if usable:
            self._seen(Sighting(peer_id, (), way, multiaddrs=usable))

    async def exchange(self, peer: KnownPeer) -> tuple[bytes, str]:
        """Give a peer our card and take its own, with the address where it answered; raises ServerConnectionError."""
        at = await self._process.connect(peer.peer_id, peer.multiaddrs, CONNECT_SECONDS)
        body = await self._process.ask(peer.peer_id, CARD_PROTOCOL, self._own_card(), CARD_SECONDS)
        return body, at

    async def open_link(self, server: str, peer: KnownPeer) -> Libp2pLink:
        """A link to a peer that is there; whether it is trusted is for the caller to know."""
        await self._process.connect(peer.peer_id, peer.multiaddrs, CONNECT_SECONDS)

        async def ask(line: bytes, seconds: float) -> bytes:
            return await self._process.ask(peer.peer_id, MCP_PROTOCOL, line, seconds)

        return Libp2pLink(server, ask)
