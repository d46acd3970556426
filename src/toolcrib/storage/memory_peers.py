"""Known peers in memory: for tests, and where the disk can't be used."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from toolcrib.model.peer import AgentCard, KnownPeer, Trust


class MemoryPeers:
    """Fulfils `PeerStore` for one process; there is no other process whose decisions could be missed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._peers: dict[str, KnownPeer] = {}

    def peers(self) -> list[KnownPeer]:
        with self._lock:
            known = sorted(self._peers.values(), key=lambda peer: peer.server)
            return [peer if peer.is_trusted else peer.brief() for peer in known]

    def peer(self, peer_id: str) -> KnownPeer | None:
        with self._lock:
            return self._peers.get(peer_id)

    def save_peers(self, peers: Sequence[KnownPeer]) -> None:
        with self._lock:
            for peer in peers:
                self._save(peer)

    def _save(self, peer: KnownPeer) -> None:
        there = self._peers.get(peer.peer_id)
        server = there.server if there is not None and there.trust != "seen" else peer.server
        if any(other.server == server for other in self._peers.values() if other.peer_id != peer.peer_id):
            return
        decided = (
            KnownPeer(peer_id="", server="", title="", by="mdns", found_at=peer.found_at) if there is None else there
        )
        self._peers[peer.peer_id] = replace(
            peer,
            server=server,
            trust=decided.trust,
            pins=decided.pins,
            found_at=decided.found_at,
            card=_whole(peer.card, decided.card),
        )

    def drop_seen(self, peer_ids: Collection[str]) -> None:
        with self._lock:
            gone = {peer_id for peer_id in peer_ids if peer_id in self._peers and self._peers[peer_id].trust == "seen"}
            self._peers = {peer_id: peer for peer_id, peer in self._peers.items() if peer_id not in gone}

    def decide(self, peer_id: str, trust: Trust, pins: Mapping[str, str] | None) -> bool:
        with self._lock:
            there = self._peers.get(peer_id)
            if there is None:
                return False
            self._peers[peer_id] = replace(there, trust=trust, pins=there.pins if pins is None else dict(pins))
            return True

    def forget_peer(self, peer_id: str) -> bool:
        with self._lock:
            return self._peers.pop(peer_id, None) is not None

    def close(self) -> None:
        """Nothing to let go of."""


def _whole(card: AgentCard | None, before: AgentCard | None) -> AgentCard | None:
    """The card with the tools that were written down before, where it comes without."""
    if card is None or card.definitions is not None:
        return card
    return replace(card, definitions=() if before is None else before.definitions)
