"""What we say to a peer that answered over HTTPS: here is our card, and whom do you know."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from toolcrib.engine.introductions import introductions_in
from toolcrib.engine.own_card import SignedCard
from toolcrib.engine.peer_round import LOOK_SECONDS, Met
from toolcrib.errors import PeerRefused, ServerConnectionError
from toolcrib.model.peer import Sighting
from toolcrib.peers.addresses import OwnAddress
from toolcrib.peers.identity import Identity
from toolcrib.upstream.peer_http import PeerHttp, PeerProof

log = logging.getLogger(__name__)

# How often a bootstrap node is asked for others.
ASK_SECONDS = 60.0


class PeerCourtesies:
    """Remembers what each peer was told and asked, so that neither is said too often."""

    def __init__(self, identity: Identity, http: PeerHttp, now: Callable[[], float]) -> None:
        self._identity = identity
        self._http = http
        self._now = now
        # By peer, which of our cards it was given last, and when.
        self._told: dict[str, tuple[str, float]] = {}
        self._asked: dict[str, float] = {}

    def forget(self, peer_id: str) -> None:
        """A peer went away: it may have forgotten our card when it comes back."""
        self._told.pop(peer_id, None)

    async def tell(self, met: Met, own: SignedCard, *, again_after_seconds: float) -> None:
        """Give a peer our card, where it has another one, or may have forgotten it."""
        now, peer_id = self._now(), met.card.peer_id
        etag, told_at = self._told.get(peer_id, ("", 0.0))
        is_recent = etag == own.etag and 0 <= now - told_at < again_after_seconds
        if met.address is None or is_recent:
            return
        self._told[peer_id] = own.etag, now
        try:
            await self._http.hand_over(met.address, met.certificate, self._proof(met), own.body, LOOK_SECONDS)
        except (PeerRefused, ServerConnectionError) as problem:
            log.debug("%s did not take our card: %s", peer_id, problem.message)

    async def others_known_to(self, met: Met, own_addresses: Sequence[OwnAddress]) -> list[Sighting]:
        """Whom a peer tells us of; nobody where it was asked a moment ago."""
        now, peer_id = self._now(), met.card.peer_id
        if met.address is None or 0 <= now - self._asked.get(peer_id, -ASK_SECONDS) < ASK_SECONDS:
            return []
        told = await self._http.introduced(met.address, met.certificate, self._proof(met), LOOK_SECONDS)
        if told is None:
            return []
        self._asked[peer_id] = now
        return introductions_in(told, own_addresses)

    def _proof(self, met: Met) -> PeerProof:
        return PeerProof(self._identity, met.card.peer_id, met.card.tls, self._now)
