"""`toolcrib peers`: other agents on the network, and what a person thinks of them. Reads and writes the catalog only."""

from __future__ import annotations

import argparse
import math
import os
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from toolcrib.cli.exits import OK
from toolcrib.cli.following import follow
from toolcrib.cli.opened_capabilities import Opened, opened, person
from toolcrib.cli.output import Output
from toolcrib.cli.peer_decisions import trust
from toolcrib.cli.peer_text import (
    PeerEvent,
    Seen,
    State,
    events,
    peer_json,
    peer_json_in_full,
    peer_row,
    print_peer,
    state_of,
)
from toolcrib.cli.table import print_table
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.peer_presence import read_presence
from toolcrib.engine.peer_trust import PeerReview, opened_peer_review
from toolcrib.errors import StoreUnavailable
from toolcrib.model.advice import PEERS_OFF
from toolcrib.model.clean_text import clean
from toolcrib.model.peer import KnownPeer
from toolcrib.peers.identity import Identity, name_for_peers

_LOOK_SECONDS = 1.0


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    actions = {"list": _list, "show": _show, "trust": _trust, "forget": _forget, "watch": _watch}
    with opened(options, output) as door, opened_peer_review(Paths.of(os.environ), door.capabilities.review) as peers:
        return actions[options.action](options, output, door, peers)


def _list(options: argparse.Namespace, output: Output, door: Opened, peers: PeerReview) -> int:
    now = time.time()
    found = [(peer, _state(peer, door.settings, now)) for peer in peers.store.peers()]
    shown = [(peer, state) for peer, state in found if options.all or _is_of_interest(peer, state)]
    if output.as_json:
        output.json({"self": _self(door.settings), "peers": [peer_json(peer, state) for peer, state in shown]})
        return OK
    if not door.settings.peers_enabled:
        output.note(PEERS_OFF)
    if shown:
        rows = [peer_row(peer, state, now) for peer, state in shown]
        print_table(output.out, ("NAME", "STATE", "SEEN", "ADDRESS", "TOOLS", "ID"), rows)
    else:
        output.out.write("No peer is known." if not found else "No peer is there now; --all shows the others.")
    return OK


def _show(options: argparse.Namespace, output: Output, door: Opened, peers: PeerReview) -> int:
    peer = peers.find(options.name)
    state = _state(peer, door.settings, time.time())
    if output.as_json:
        output.json(peer_json_in_full(peer, state))
    else:
        print_peer(output.out, peer, state)
    return OK


def _trust(options: argparse.Namespace, output: Output, _: Opened, peers: PeerReview) -> int:
    return trust(options, output, peers, peers.proposal_for(peers.find(options.name)))


def _forget(options: argparse.Namespace, output: Output, _: Opened, peers: PeerReview) -> int:
    peer = peers.find(options.name)
    peers.forget(peer, person(), block=options.block)
    if output.as_json:
        output.json({"success": True, "peerId": peer.peer_id, "server": peer.server, "blocked": options.block})
    else:
        output.out.paragraph(f"{peer.server} is {'blocked' if options.block else 'forgotten'}")
    return OK


def _watch(_: argparse.Namespace, output: Output, door: Opened, peers: PeerReview) -> int:
    if not door.settings.peers_enabled:
        output.note(PEERS_OFF)
    changes = _Changes(peers, door.settings)
    for event in follow(changes.look, output.out.stream):
        _print_event(output, event)
    return OK


class _Changes:
    """At first how everybody is; then what happened since the last look, which is a second ago at least."""

    def __init__(self, peers: PeerReview, settings: Settings) -> None:
        self._peers = peers
        self._settings = settings
        self._looked_at = -math.inf
        self._seen: Seen | None = None

    def look(self) -> list[PeerEvent]:
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return []
        try:
            seen = self._now_seen()
        except StoreUnavailable:
            return []  # the next look may succeed
        before, self._seen = self._seen, seen
        if before is not None:
            return list(events(before, seen))
        return [PeerEvent(state, peer.server, peer_id) for peer_id, (peer, state) in seen.items()]

    def _now_seen(self) -> Seen:
        self._looked_at = time.monotonic()
        now = time.time()
        return {peer.peer_id: (peer, _state(peer, self._settings, now)) for peer in self._peers.store.peers()}


def _print_event(output: Output, event: PeerEvent) -> None:
    at = datetime.now(UTC)
    if output.as_json:
        output.json_line({"time": at.isoformat(timespec="seconds"), **asdict(event)})
        return
    line = f"{at.astimezone().strftime('%H:%M:%S')}  {event.server}  {event.what}  {event.detail}"
    output.out.write(clean(line.rstrip()))


def _state(peer: KnownPeer, settings: Settings, now: float) -> State:
    return state_of(peer, now, settings.peers_stale_after_seconds)


def _is_of_interest(peer: KnownPeer, state: State) -> bool:
    return peer.is_trusted or state not in ("stale", "blocked")


def _self(settings: Settings) -> dict[str, Any]:
    """Who we are, and where peers reach us now; without a key we are nobody yet, and asking makes none."""
    paths = Paths.of(os.environ)
    presence = read_presence(paths)
    addresses = list(presence.addresses) if presence is not None else []
    return {
        "peerId": Identity.kept_at(paths.peer_key).peer_id if paths.peer_key.exists() else None,
        "name": name_for_peers(settings.peers_name),
        "enabled": settings.peers_enabled,
        "advertised": bool(addresses),
        "addresses": addresses,
    }
