"""Peers that a person wrote down by their addresses, for networks where nobody can be heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolcrib.model.peer import FoundBy, PeerAddress, Sighting
from toolcrib.model.peer_address import is_multiaddress, written_address, written_peer
from toolcrib.peers.multiaddresses import peer_in


@dataclass(frozen=True, slots=True)
class WrittenPeer:
    """An address, and the id of the one peer that may be there; empty where anybody may."""

    address: PeerAddress
    by: FoundBy
    peer_id: str = ""

    @property
    def sighting(self) -> Sighting:
        return Sighting(self.peer_id, (self.address,), self.by)


class WrittenPeers:
    """The entries of `peers.static` and `peers.bootstrap`, and when each was asked last."""

    def __init__(self) -> None:
        # Whoever may be at an address, and those whose ids were written too.
        self.entries: tuple[WrittenPeer, ...] = ()
        self.named: tuple[Sighting, ...] = ()
        self._asked_at: dict[WrittenPeer, float] = {}

    def configure(self, static: Sequence[str], bootstrap: Sequence[str]) -> None:
        # What can't be read was refused with the configuration.
        nodes = [WrittenPeer(written_address(text), "bootstrap") for text in bootstrap if not is_multiaddress(text)]
        peers = [WrittenPeer(address, "static", peer_id) for peer_id, address in map(written_peer, static)]
        self.entries = tuple(one for one in (*peers, *nodes) if not one.peer_id)
        over_libp2p = [(peer_in(text), text) for text in bootstrap if is_multiaddress(text)]
        self.named = (
            *(one.sighting for one in peers if one.peer_id),
            *(Sighting(peer_id, (), "bootstrap", multiaddrs=(text,)) for peer_id, text in over_libp2p if peer_id),
        )
        self._asked_at = {one: at for one, at in self._asked_at.items() if one in self.entries}

    def introduces(self, address: PeerAddress | None) -> bool:
        """Whether the peer at this address is one to ask for others."""
        return any(one.by == "bootstrap" and one.address == address for one in self.entries)

    def is_due(self, one: WrittenPeer, now: float, pause_seconds: float) -> bool:
        """Whether to ask who is there now; if so, it is not due again before the pause is over."""
        if 0 <= now - self._asked_at.get(one, -pause_seconds) < pause_seconds:
            return False
        self._asked_at[one] = now
        return True
