"""How much of what strangers say of themselves is kept: the cards of peers that nobody decided about, in all and by host."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from toolcrib.errors import PeerRefused
from toolcrib.model.peer import AgentCard, KnownPeer

# Ordinary cards have a few kilobytes. Every process that shows peers reads all of them whenever one has changed.
MOST_BYTES = 8 * 1024 * 1024
MOST_BYTES_OF_A_HOST = 512 * 1024


class CardRoom:
    """Knows the sizes of cards by their etags, so that each is measured once."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def check(self, card: AgentCard, host: str, others: Iterable[KnownPeer]) -> None:
        """Raises PeerRefused where the cards of the others, of this host or of all, leave no room for this one."""
        measured = {card.etag: self._size(card)}
        of_host = in_all = measured[card.etag]
        for peer in others:
            if peer.card is not None:
                size = measured[peer.card.etag] = self._size(peer.card)
                in_all += size
                of_host += size if host_of(peer) == host else 0
        self._sizes = measured
        if of_host > MOST_BYTES_OF_A_HOST or in_all > MOST_BYTES:
            raise PeerRefused(
                "there is no room for its card beside those of others that nobody decided about",
                reason="crowd",
                hint="`toolcrib peers list` shows them; forget or block those that you do not know.",
            )

    def _size(self, card: AgentCard) -> int:
        return self._sizes.get(card.etag) or len(msgspec.json.encode(card))


def host_of(peer: KnownPeer) -> str:
    """Where it is now, whichever way it is reached; one that only calls is nowhere."""
    if peer.addresses:
        return peer.addresses[0].host
    return peer.multiaddrs[0].split("/")[2] if peer.multiaddrs else ""
