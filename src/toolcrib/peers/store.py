"""What any store of known peers must offer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from toolcrib.model.peer import KnownPeer, Trust


class PeerStore(Protocol):
    """Known peers on some medium, shared by several processes.

    Every method may raise `StoreUnavailable`; a write that raised it changed nothing. Every write that changes something
    changes the catalog's change token too. What was seen and what a person decided are written apart, so that a process
    that sees a peer never undoes a decision that was made in another one.
    """

    def peers(self) -> list[KnownPeer]:
        """All of them, by the names of their servers; those that nobody trusts have brief cards."""

    def peer(self, peer_id: str) -> KnownPeer | None:
        """One of them with its whole card, or None where it is not known."""

    def save_peers(self, peers: Sequence[KnownPeer]) -> None:
        """Enter peers, which nobody trusts then, or write down what was seen of them; trust and pins stay as they are.

        A new peer whose server has the name of another's is left out. The name of a server that is trusted stays. With a
        brief card the tools that are written down stay.
        """

    def drop_seen(self, peer_ids: Collection[str]) -> None:
        """Take peers out that make room for others, unless a person has decided about them."""

    def decide(self, peer_id: str, trust: Trust, pins: Mapping[str, str] | None) -> bool:
        """Write down what a person decided; without `pins` the reviewed tools stay. False where it is not known."""

    def forget_peer(self, peer_id: str) -> bool:
        """Take a peer out; False where it was not there."""

    def close(self) -> None:
        """Let go of the medium; closing twice is harmless."""
