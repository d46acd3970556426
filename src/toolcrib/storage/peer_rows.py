"""A known peer as a row: what is asked for by column, and the rest as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from toolcrib.model.peer import AgentCard, FoundBy, KnownPeer, PeerAddress, Trust
from toolcrib.storage.json_text import to_json


class _Body(msgspec.Struct, omit_defaults=True):
    title: str
    addresses: tuple[PeerAddress, ...] = ()
    card: AgentCard | None = None
    certificate: bytes = b""
    multiaddrs: tuple[str, ...] = ()
    away_since: float | None = None
    trouble: str = ""


_FIELDS = _Body.__struct_fields__
_decode = msgspec.json.Decoder(_Body).decode
_decode_tools = msgspec.json.Decoder(tuple[dict[str, Any], ...]).decode
_decode_pins = msgspec.json.Decoder(dict[str, str]).decode


def body_of(peer: KnownPeer) -> str:
    """What has no column of its own."""
    return to_json(msgspec.to_builtins(_Body(**{name: getattr(peer.brief(), name) for name in _FIELDS})))


def tools_of(peer: KnownPeer) -> str | None:
    """The tools of its card; None where they are not at hand, and those that are written down still hold."""
    if peer.card is None:
        return to_json([])
    return None if peer.card.definitions is None else to_json(list(peer.card.definitions))


def peer_of(row: tuple[Any, ...]) -> KnownPeer | None:
    """From (peer_id, server, trust, pins, found_by, found_at, seen_at, body, tools); without tools its card is brief.

    None for a row that a newer Toolcrib wrote in its own way: it is left to that one, and is no damage.
    """
    try:
        return _peer(*row)
    except msgspec.DecodeError:
        return None


def _peer(
    peer_id: str,
    server: str,
    trust: str,
    pins: str,
    found_by: str,
    found_at: float,
    seen_at: float | None,
    text: str,
    tools: str | None,
) -> KnownPeer:
    body = _decode(text)
    if tools is not None and body.card is not None:
        body.card = replace(body.card, definitions=_decode_tools(tools))
    return KnownPeer(
        peer_id=peer_id,
        server=server,
        trust=msgspec.convert(trust, Trust),
        pins=_decode_pins(pins),
        by=msgspec.convert(found_by, FoundBy),
        found_at=found_at,
        seen_at=seen_at,
        **{name: getattr(body, name) for name in _FIELDS},
    )
