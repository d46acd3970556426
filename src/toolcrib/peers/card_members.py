"""An agent card as JSON; apart from signing, which loads much more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.model.peer import AgentCard

_OWN_WORDS = {"inputSchema": "parameters"}


def card_members(card: AgentCard) -> dict[str, Any]:
    """A card as it is told, without its signature."""
    return {
        "name": card.name,
        "version": card.version,
        "peerId": card.peer_id,
        "capabilities": list(card.capabilities),
        "tools": [_card_tool(definition) for definition in card.definitions or ()],
        "toolCount": card.tool_count,
        "timestamp": card.timestamp,
        "endpoint": {"port": card.port, "path": card.path},
        "tls": card.tls,
        "etag": card.etag,
    }


def _card_tool(definition: Mapping[str, Any]) -> dict[str, Any]:
    return {_OWN_WORDS.get(key, key): value for key, value in definition.items()}
