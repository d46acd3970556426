"""Known peers in the catalog file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from toolcrib.model.peer import KnownPeer, Trust
from toolcrib.storage.json_text import to_json
from toolcrib.storage.peer_rows import body_of, peer_of, tools_of
from toolcrib.storage.sqlite_file import SqliteFile

_FIRST = "SELECT peer_id, server, trust, pins, found_by, found_at, seen_at, body"
_PEERS = f"{_FIRST}, CASE trust WHEN 'trusted' THEN tools END FROM peers ORDER BY server"
_PEER = f"{_FIRST}, tools FROM peers WHERE peer_id = ?"
_ENTER = """
INSERT OR IGNORE INTO peers (peer_id, server, found_by, found_at, seen_at, body, tools)
VALUES (:peer_id, :server, :found_by, :found_at, :seen_at, :body, coalesce(:tools, '[]'))
"""
# Never what a person decided: trust, pins, and the name under which somebody is trusted.
_UPDATE = """
UPDATE OR IGNORE peers SET
    server = CASE trust WHEN 'seen' THEN :server ELSE server END,
    found_by = :found_by, seen_at = :seen_at, body = :body, tools = coalesce(:tools, tools)
WHERE peer_id = :peer_id AND (
    body <> :body OR tools <> coalesce(:tools, tools) OR seen_at IS NOT :seen_at OR found_by <> :found_by OR (trust = 'seen' AND server <> :server)
)
"""
_DECIDE = "UPDATE peers SET trust = :trust, pins = coalesce(:pins, pins) WHERE peer_id = :peer_id"


class SqlitePeers:
    """Fulfils `PeerStore`."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path, read_only=False)

    def peers(self) -> list[KnownPeer]:
        with self._file.connection() as db:
            known = [peer_of(row) for row in db.execute(_PEERS)]
            return [peer for peer in known if peer is not None]

    def peer(self, peer_id: str) -> KnownPeer | None:
        with self._file.connection() as db:
            row = db.execute(_PEER, (peer_id,)).fetchone()
            return None if row is None else peer_of(row)

    def save_peers(self, peers: Sequence[KnownPeer]) -> None:
        rows = [_values(peer) for peer in peers]
        with self._file.transaction() as db:
            changed = sum(db.execute(step, row).rowcount for row in rows for step in (_ENTER, _UPDATE))
            _note_change(db, changed)

    def drop_seen(self, peer_ids: Collection[str]) -> None:
        rows = [(peer_id,) for peer_id in peer_ids]
        with self._file.transaction() as db:
            gone = db.executemany("DELETE FROM peers WHERE peer_id = ? AND trust = 'seen'", rows)
            _note_change(db, gone.rowcount)

    def decide(self, peer_id: str, trust: Trust, pins: Mapping[str, str] | None) -> bool:
        values = {"peer_id": peer_id, "trust": trust, "pins": None if pins is None else to_json(dict(pins))}
        with self._file.transaction() as db:
            found = db.execute(_DECIDE, values).rowcount
            _note_change(db, found)
        return found == 1

    def forget_peer(self, peer_id: str) -> bool:
        with self._file.transaction() as db:
            found = db.execute("DELETE FROM peers WHERE peer_id = ?", (peer_id,)).rowcount
            _note_change(db, found)
        return found == 1

    def close(self) -> None:
        self._file.close()


def _values(peer: KnownPeer) -> dict[str, object]:
    return {
        "peer_id": peer.peer_id,
        "server": peer.server,
        "found_by": peer.by,
        "found_at": peer.found_at,
        "seen_at": peer.seen_at,
        "body": body_of(peer),
        "tools": tools_of(peer),
    }


def _note_change(db: sqlite3.Connection, changed: int) -> None:
    if changed > 0:
        db.execute("UPDATE catalogue SET change_token = change_token + 1")
