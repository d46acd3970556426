"""Peers in words for people, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.cli.ages import ago
from toolcrib.cli.approval_text import date
from toolcrib.cli.terminal import Terminal
from toolcrib.model.clean_text import clean
from toolcrib.model.peer import KnownPeer
from toolcrib.model.tool import Tool
from toolcrib.schema.convert import convert
from toolcrib.schema.signature import signature

State = Literal["waiting", "trusted", "away", "stale", "blocked", "refused"]
ID_CHARACTERS = 8


def state_of(peer: KnownPeer, now: float, stale_seconds: float) -> State:
    """A peer in one word; what is wrong comes first."""
    if peer.trust == "blocked":
        return "blocked"
    if peer.trouble:
        return "refused"
    if peer.is_stale(now, stale_seconds):
        return "stale"
    if peer.away_since is not None:
        return "away"
    return "trusted" if peer.is_trusted else "waiting"


def peer_row(peer: KnownPeer, state: State, now: float) -> tuple[str, ...]:
    """The cells of a table: name, state, seen, address, tools, the end of the id."""
    seen = ago(now - peer.seen_at) if peer.seen_at is not None else "never"
    address = peer.where or "-"
    tools = str(peer.card.tool_count) if peer.card is not None else "?"
    return peer.server, state, seen, address, tools, peer.peer_id[-ID_CHARACTERS:]


def peer_json(peer: KnownPeer, state: State) -> dict[str, Any]:
    return {
        "peerId": peer.peer_id,
        "server": peer.server,
        "name": peer.title,
        "state": state,
        "foundBy": peer.by,
        "foundAt": peer.found_at,
        "lastSeen": peer.seen_at,
        "addresses": [*map(str, peer.addresses), *peer.multiaddrs],
        "toolCount": peer.card.tool_count if peer.card is not None else None,
        "trouble": peer.trouble,
    }


def peer_json_in_full(peer: KnownPeer, state: State) -> dict[str, Any]:
    card = peer.card
    if card is None:
        return {**peer_json(peer, state), "trust": peer.trust, "card": None}
    told: dict[str, Any] = {
        "version": card.version,
        "capabilities": list(card.capabilities),
        "timestamp": card.timestamp,
        "tls": card.tls,
        "tools": [{**one, "reviewed": is_reviewed(peer, one)} for one in card.definitions or ()],
    }
    return {**peer_json(peer, state), "trust": peer.trust, "card": told}


def is_reviewed(peer: KnownPeer, definition: Mapping[str, Any]) -> bool:
    """Whether this very definition was agreed to."""
    return peer.pins.get(str(definition["name"])) == Tool.from_mcp("", definition).fingerprint


def print_peer(out: Terminal, peer: KnownPeer, state: State) -> None:
    """All that is known of a peer."""
    out.write(out.paint(f"{clean(peer.server)} ({state})", "bold"))
    for label, text in _lines(peer):
        if text:
            out.paragraph(f"{label}: {clean(text)}", "  ")
    out.write()
    if peer.card is None:
        out.paragraph("Its tools are not known now.", "  ")
        return
    for definition in peer.card.definitions or ():
        tool = Tool.from_mcp(peer.server, definition)
        mark = "" if is_reviewed(peer, definition) or not peer.is_trusted else "   (not reviewed)"
        out.paragraph(clean(signature(tool.name, convert(tool.input_schema).type)) + mark, "  ", "bold")
        out.paragraph(tool.description, "    ")


def _lines(peer: KnownPeer) -> list[tuple[str, str]]:
    card = peer.card
    return [
        ("Id", peer.peer_id),
        ("Calls itself", f"{peer.title} {card.version if card else ''}".strip()),
        ("Is at", ", ".join([*map(str, peer.addresses), *peer.multiaddrs])),
        ("Found by", f"{peer.by}, {date(peer.found_at)}"),
        ("Last seen", date(peer.seen_at)),
        ("Does not answer since", date(peer.away_since)),
        ("Certificate", card.tls if card else ""),
        ("Refused", peer.trouble),
    ]


@dataclass(frozen=True, slots=True)
class PeerEvent:
    """One thing that happened to a peer."""

    what: str
    server: str
    peer_id: str
    detail: str = ""


Seen = Mapping[str, tuple[KnownPeer, State]]


def events(before: Seen, after: Seen) -> Iterator[PeerEvent]:
    """What must have happened between two looks at all peers."""
    for peer_id, (peer, state) in after.items():
        known = before.get(peer_id)
        told = [("found", peer.where)] if known is None else _changes(*known, peer, state)
        for what, detail in told:
            yield PeerEvent(what, peer.server, peer_id, detail)
    for peer_id, (peer, _) in before.items():
        if peer_id not in after:
            yield PeerEvent("forgotten", peer.server, peer_id)


def _changes(old: KnownPeer, was: State, new: KnownPeer, state: State) -> Iterable[tuple[str, str]]:
    if new.trust != old.trust:
        yield ("no longer trusted" if new.trust == "seen" else new.trust), ""
    if state != was and state in ("away", "stale", "refused"):
        yield state, new.trouble if state == "refused" else ""
    if was in ("away", "stale", "refused") and state in ("trusted", "waiting"):
        yield "back", new.where
    if old.card is not None and new.card is not None and old.card.etag != new.card.etag:
        yield "tools changed", f"{new.card.tool_count} tools"
