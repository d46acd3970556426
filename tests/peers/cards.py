"""Peers for tests: real keys, and cards that they signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib.model.peer import AgentCard, KnownPeer, PeerAddress
from toolcrib.peers.card import own_card
from toolcrib.peers.identity import Identity

NOW = 1_800_000_000.0
KITCHEN = Identity(b"k" * 32)
GARAGE = Identity(b"g" * 32)
STRANGER = Identity(b"s" * 32)
ADDRESS = PeerAddress("10.0.0.7", 8666)


def definition(name: str, description: str = "Does something.", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


def card_of(
    identity: Identity,
    name: str = "kitchen",
    definitions: Sequence[Mapping[str, Any]] = (),
    *,
    now: float = NOW,
    tls: str = "sha256-abc",
) -> AgentCard:
    return own_card(identity, name=name, version="1.0", definitions=definitions, port=8666, tls=tls, now=now)


def known_peer(
    identity: Identity = KITCHEN,
    name: str = "kitchen",
    definitions: Sequence[Mapping[str, Any]] = (),
    *,
    now: float = NOW,
    **more: Any,
) -> KnownPeer:
    """A peer whose card was taken at that moment."""
    values = {"peer_id": identity.peer_id, "server": f"peer-{name}", "title": name, "by": "mdns", "found_at": now}
    seen = {"seen_at": now, "addresses": (ADDRESS,), "card": card_of(identity, name, definitions, now=now)}
    return KnownPeer(**{**values, **seen, **more})
