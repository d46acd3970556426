"""Our card as an MCP resource, the only one that peers are offered."""

from __future__ import annotations

CARD_URI = "agent://card"
CARD_RESOURCE = {"uri": CARD_URI, "name": "card", "title": "Agent card", "mimeType": "application/json"}
NO_OTHER = f"the only resource here is {CARD_URI}"


def card_content(card: bytes) -> dict[str, str]:
    """What reading it gives."""
    return {"uri": CARD_URI, "mimeType": "application/json", "text": card.decode()}
