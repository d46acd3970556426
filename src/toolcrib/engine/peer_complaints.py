"""Loud words about peers that are not who they should be."""

from __future__ import annotations

import logging

from toolcrib.errors import PeerRefused

log = logging.getLogger(__name__)

COMPLAINT_SECONDS = 3600.0


class PeerComplaints:
    """Says it once an hour for each of them."""

    def __init__(self) -> None:
        self._told_at: dict[str, float] = {}

    def tell(self, who: str, refusal: PeerRefused, now: float) -> None:
        recent = {key: at for key, at in self._told_at.items() if now - at < COMPLAINT_SECONDS}
        if who not in recent and refusal.reason != "ourselves":
            log.warning("%s is refused: %s", who, refusal.message)
            recent[who] = now
        self._told_at = recent
