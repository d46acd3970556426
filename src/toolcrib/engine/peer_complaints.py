"""Loud words about peers that are not who they should be."""

from __future__ import annotations

import logging

from toolcrib.errors import PeerRefused

log = logging.getLogger(__name__)

COMPLAINT_SECONDS = 3600.0
# How many strangers may be complained about in that time: anybody can be as many as they like.
MOST_COMPLAINTS = 20


class PeerComplaints:
    """Says it once an hour for each of them."""

    def __init__(self) -> None:
        self._told_at: dict[str, float] = {}

    def tell(self, who: str, refusal: PeerRefused, now: float, *, is_stranger: bool) -> None:
        recent = {key: at for key, at in self._told_at.items() if now - at < COMPLAINT_SECONDS}
        is_too_much = is_stranger and len(recent) >= MOST_COMPLAINTS
        if who not in recent and refusal.reason != "ourselves" and not is_too_much:
            log.warning("%s is refused: %s", who, refusal.message)
            recent[who] = now
        self._told_at = recent
