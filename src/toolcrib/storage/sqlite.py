"""The catalog in one SQLite file, shared by every gateway of a person."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolcrib.catalog.store import LAUNCHES_KEPT, NO_USERS, GatewayRow, PinsKept, ServerRecord, Users
from toolcrib.model.asking import KIND_OF, QuestionKind
from toolcrib.model.finding import Finding
from toolcrib.model.learnt import LearntShape
from toolcrib.model.pin import Judged, Pin, Pins
from toolcrib.model.reading import ServerReading
from toolcrib.model.tool import Tool
from toolcrib.storage.json_text import (
    ItemRow,
    ToolRow,
    identity_to_json,
    plain_text,
    read_identity,
    read_object,
    read_statuses,
    read_users,
    stored_items,
    stored_tools,
    to_json,
    with_kept,
)
from toolcrib.storage.json_tool import read_item, read_tool
from toolcrib.storage.sqlite_file import SqliteFile
from toolcrib.storage.sqlite_trust import all_findings, decide, pins_of, save_judged

MAX_VECTORS = 250_000


_KEYS_A_QUERY = 500

_SERVERS = """
SELECT name, launch_key, identity, read_at, ttl_seconds, error, error_at, stale,
       (SELECT count(*) FROM tools WHERE tools.launch_key = servers.launch_key), failures, error_code, expired, asks,
       (SELECT count(*) FROM items WHERE items.launch_key = servers.launch_key), review_key,
       ifnull((SELECT revision FROM pinned WHERE pinned.review_key = servers.review_key), 0)
FROM servers ORDER BY name, launch_key
"""
_TOOLS = "SELECT servers.name, definition, fingerprint FROM tools JOIN servers USING (launch_key)"
_ITEMS = """
SELECT servers.name, items.kind, items.name, definition, fingerprint FROM items JOIN servers USING (launch_key)
WHERE launch_key = ? ORDER BY position
"""
_SAVE_ITEM = "INSERT INTO items (launch_key, kind, position, name, fingerprint, definition) VALUES (?, ?, ?, ?, ?, ?)"
_SAVE_SERVER = """
INSERT INTO servers (launch_key, name, identity, read_at, ttl_seconds) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (launch_key) DO UPDATE SET
    name = excluded.name, identity = excluded.identity, read_at = excluded.read_at,
    ttl_seconds = excluded.ttl_seconds, error = '', error_at = NULL, stale = 0, failures = 0, error_code = '',
    expired = 0
"""
# Every edit of an entry is another launch: without this, each would leave its tools behind for ever.
_FORGET_FORMER_LAUNCHES = """
DELETE FROM servers WHERE stale AND name = :name AND launch_key NOT IN (
    SELECT launch_key FROM servers WHERE name = :name ORDER BY read_at DESC LIMIT :kept
)
"""
_SAVE_FAILURE = """
INSERT INTO servers (launch_key, name, error, error_at, failures, error_code)
VALUES (:launch, :name, :error, :at, 1, :code)
ON CONFLICT (launch_key) DO UPDATE SET
    name = excluded.name, error = excluded.error, error_at = excluded.error_at, failures = failures + 1,
    error_code = excluded.error_code
"""
_SAVE_ASKS = """
INSERT INTO servers (launch_key, name, asks) VALUES (:launch, :name, :asks)
ON CONFLICT (launch_key) DO UPDATE SET asks = excluded.asks WHERE asks <> excluded.asks
"""
_SAVE_TOOL = """
INSERT INTO tools (launch_key, name, position, fingerprint, definition) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (launch_key, name) DO UPDATE SET
    position = excluded.position, fingerprint = excluded.fingerprint, definition = excluded.definition
"""
_SAVE_SHAPE = """
INSERT INTO learnt_shapes (launch_key, tool, fingerprint, shape, samples, origin, drift, learnt_at)
SELECT launch_key, name, fingerprint, :shape, :samples, :origin, :drift, :learnt_at FROM tools
WHERE launch_key = :launch_key AND name = :tool AND fingerprint = :fingerprint
ON CONFLICT (launch_key, tool) DO UPDATE SET
    fingerprint = excluded.fingerprint, shape = excluded.shape, samples = excluded.samples, origin = excluded.origin,
    drift = excluded.drift, learnt_at = excluded.learnt_at
WHERE excluded.samples >= learnt_shapes.samples OR excluded.fingerprint <> learnt_shapes.fingerprint
"""
_SHAPES = """
SELECT launch_key, tool, fingerprint, shape, samples, origin, drift, learnt_at FROM learnt_shapes WHERE launch_key = ?
"""
_TAKE_LEASE = """
INSERT INTO leases (launch_key, owner, expires_at) VALUES (:launch_key, :owner, :expires_at)
ON CONFLICT (launch_key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
WHERE leases.owner = excluded.owner OR leases.expires_at <= :now
"""


class SqliteCatalog:
    """Fulfils `CatalogStore`; reads never wait for a write, here or in another process."""

    def __init__(self, path: Path, pins_kept: PinsKept | None = None) -> None:
        self._pins_kept = pins_kept or PinsKept()
        self._writer = SqliteFile(path, read_only=False)
        # Reading has its own connection, so that it need not queue behind a write that waits for another process.
        self._reader = SqliteFile(path, read_only=True)
        # The encoder whose vectors we add to, and about how many there are: counting them reads them all.
        self._vectors_of, self._vector_count = "", 0

    def servers(self) -> dict[str, ServerRecord]:
        with self._reader.connection() as db:
            records = (_server_record(row) for row in db.execute(_SERVERS))
            return {record.launch_key: record for record in records}

    def tools(self, launch_key: str) -> list[Tool]:
        query = f"{_TOOLS} WHERE launch_key = ? ORDER BY position"
        with self._reader.connection() as db:
            return [read_tool(*row) for row in db.execute(query, (launch_key,))]

    def items(self, launch_key: str) -> list[Tool]:
        with self._reader.connection() as db:
            return [read_item(*row) for row in db.execute(_ITEMS, (launch_key,))]

    def all_tools(self) -> list[Tool]:
        query = f"{_TOOLS} ORDER BY servers.name, launch_key, position"
        with self._reader.connection() as db:
            return [read_tool(*row) for row in db.execute(query)]

    def save_reading(
        self, server: str, launch_key: str, reading: ServerReading, read_at: float, judged: Judged | None = None
    ) -> bool:
        new, items = stored_tools(server, reading.tools), stored_items(server, reading.items)
        identity = identity_to_json(reading.identity)
        with self._writer.transaction() as db:
            db.execute(_SAVE_SERVER, (launch_key, server, identity, read_at, reading.ttl_seconds))
            db.execute(_FORGET_FORMER_LAUNCHES, {"name": server, "kept": LAUNCHES_KEPT})
            changed = _replace_tools(db, launch_key, new)
            changed |= _replace_items(db, launch_key, items, reading.unlisted)
            if judged is not None:
                save_judged(db, server, launch_key, judged, read_at, self._pins_kept)
            _note_change(db)
        return changed

    def record_failure(self, server: str, launch_key: str, error: str, at: float, code: str = "") -> None:
        values = {"name": server, "launch": launch_key, "error": plain_text(error), "at": at, "code": code}
        with self._writer.transaction() as db:
            db.execute(_SAVE_FAILURE, values)
            _note_change(db)

    def note_asks(self, server: str, launch_key: str, kinds: Iterable[QuestionKind]) -> None:
        with self._writer.transaction() as db:
            known = db.execute("SELECT asks FROM servers WHERE launch_key = ?", (launch_key,)).fetchone() or ("",)
            asks = " ".join(sorted(read_asks(known[0]).union(kinds)))
            if db.execute(_SAVE_ASKS, {"launch": launch_key, "name": server, "asks": asks}).rowcount:
                _note_change(db)

    def mark_stale(self, launch_keys: Iterable[str], *, stale: bool = True) -> None:
        with self._writer.transaction() as db:
            marked = db.executemany(
                "UPDATE servers SET stale = ? WHERE launch_key = ? AND stale <> ?",
                [(stale, launch_key, stale) for launch_key in launch_keys],
            )
            if marked.rowcount > 0:
                _note_change(db)

    def expire(self, launch_keys: Iterable[str]) -> None:
        with self._writer.transaction() as db:
            marked = db.executemany(
                "UPDATE servers SET expired = 1 WHERE launch_key = ? AND NOT expired",
                [(launch_key,) for launch_key in launch_keys],
            )
            if marked.rowcount > 0:
                _note_change(db)

    def forget(self, launch_key: str) -> None:
        with self._writer.transaction() as db:
            if db.execute("DELETE FROM servers WHERE launch_key = ?", (launch_key,)).rowcount:
                _note_change(db)

    def pins(self, review_key: str, *, with_definitions: bool = False) -> Pins:
        with self._reader.connection() as db:
            return pins_of(db, review_key, with_definitions=with_definitions)

    def decide_pins(
        self,
        review_key: str,
        server: str,
        *,
        add: Sequence[Pin] = (),
        refuse: Iterable[str] = (),
        by: str,
        at: float,
    ) -> None:
        with self._writer.transaction() as db:
            decide(db, review_key, server, add, refuse, by, at, self._pins_kept)
            _note_change(db)

    def findings(self) -> dict[str, tuple[Finding, ...]]:
        with self._reader.connection() as db:
            return all_findings(db)

    def change_token(self) -> int:
        with self._reader.connection() as db:
            return int(db.execute("SELECT change_token FROM catalogue").fetchone()[0])

    def vectors(self, encoder: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        with self._reader.connection() as db:
            for start in range(0, len(keys), _KEYS_A_QUERY):
                part = keys[start : start + _KEYS_A_QUERY]
                marks = ", ".join("?" * len(part))
                query = f"SELECT text_hash, vector FROM vectors WHERE encoder = ? AND text_hash IN ({marks})"  # noqa: S608
                found.update(db.execute(query, (encoder, *part)))
        return found

    def save_vectors(self, encoder: str, vectors: Mapping[bytes, bytes]) -> None:
        rows = [(encoder, key, vector) for key, vector in vectors.items()]
        with self._writer.transaction() as db:
            if encoder != self._vectors_of or self._vector_count > MAX_VECTORS:
                self._vectors_of, self._vector_count = encoder, _without_ballast(db, encoder)
            self._vector_count += len(rows)
            db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def learnt_shape(self, launch_key: str, tool: str) -> LearntShape | None:
        with self._reader.connection() as db:
            row = db.execute(f"{_SHAPES} AND tool = ?", (launch_key, tool)).fetchone()
            return None if row is None else _learnt_shape(row)

    def learnt_shapes(self, launch_key: str) -> dict[str, LearntShape]:
        with self._reader.connection() as db:
            shapes = (_learnt_shape(row) for row in db.execute(_SHAPES, (launch_key,)))
            return {shape.tool: shape for shape in shapes}

    def save_shape(self, shape: LearntShape) -> None:
        values = {
            "launch_key": shape.launch_key,
            "tool": shape.tool,
            "fingerprint": shape.fingerprint,
            "shape": to_json(shape.schema),
            "samples": shape.samples,
            "origin": shape.origin,
            "drift": plain_text(shape.drift),
            "learnt_at": shape.learnt_at,
        }
        with self._writer.transaction() as db:
            db.execute(_SAVE_SHAPE, values)

    def try_lease(self, launch_key: str, owner: str, now: float, seconds: float) -> bool:
        values = {"launch_key": launch_key, "owner": owner, "now": now, "expires_at": now + seconds}
        with self._writer.transaction() as db:
            return db.execute(_TAKE_LEASE, values).rowcount == 1

    def release_lease(self, launch_key: str, owner: str) -> None:
        with self._writer.transaction() as db:
            db.execute("DELETE FROM leases WHERE launch_key = ? AND owner = ?", (launch_key, owner))

    def gateway_started(self, row: GatewayRow) -> None:
        told = to_json(row.statuses), to_json(row.started_with), to_json(row.users)
        values = (row.owner, row.pid, row.face, row.started_at, row.seen_at, *told)
        with self._writer.transaction() as db:
            db.execute("INSERT OR REPLACE INTO gateways VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def gateway_seen(self, owner: str, at: float, statuses: Mapping[str, str], users: Users = NO_USERS) -> None:
        values = (at, to_json(statuses), to_json(dict(users)), owner)
        with self._writer.transaction() as db:
            db.execute("UPDATE gateways SET seen_at = ?, statuses = ?, users = ? WHERE owner = ?", values)

    def gateway_gone(self, owner: str) -> None:
        with self._writer.transaction() as db:
            db.execute("DELETE FROM leases WHERE owner = ?", (owner,))
            db.execute("DELETE FROM gateways WHERE owner = ?", (owner,))

    def gateways(self) -> list[GatewayRow]:
        query = (
            "SELECT owner, pid, face, started_at, seen_at, statuses, started_with, users "
            "FROM gateways ORDER BY started_at, owner"
        )
        with self._reader.connection() as db:
            return [_gateway_row(row) for row in db.execute(query)]

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


def _without_ballast(db: sqlite3.Connection, encoder: str) -> int:
    """Drop the vectors of encoders that are no longer used, and all where there are far too many; how many are left."""
    db.execute("DELETE FROM vectors WHERE encoder <> ?", (encoder,))
    count = int(db.execute("SELECT count(*) FROM vectors").fetchone()[0])
    if count <= MAX_VECTORS:
        return count
    db.execute("DELETE FROM vectors")
    return 0


def _server_record(row: tuple[Any, ...]) -> ServerRecord:
    name, launch, identity, read_at, ttl_seconds, error, error_at, stale, tools, failures, error_code, *last = row
    expired, asks, items, review_key, revision = last
    return ServerRecord(
        name,
        launch,
        read_identity(identity),
        read_at,
        ttl_seconds,
        error,
        error_at,
        bool(stale),
        tools,
        failures,
        error_code,
        bool(expired),
        read_asks(asks),
        items,
        review_key,
        revision,
    )


def read_asks(words: str) -> frozenset[QuestionKind]:
    """The kinds of questions in a row; a newer version may know others."""
    return frozenset(kind for kind in KIND_OF.values() if kind in words.split())


def _learnt_shape(row: tuple[Any, ...]) -> LearntShape:
    launch_key, tool, fingerprint, shape, samples, origin, drift, learnt_at = row
    return LearntShape(launch_key, tool, fingerprint, read_object(shape), samples, origin, drift, learnt_at)


def _gateway_row(row: tuple[Any, ...]) -> GatewayRow:
    owner, pid, face, started_at, seen_at, statuses, started_with, users = row
    told = read_statuses(statuses), read_object(started_with), read_users(users)
    return GatewayRow(owner, pid, face, started_at, seen_at, *told)


def _replace_tools(db: sqlite3.Connection, launch_key: str, new: Mapping[str, ToolRow]) -> bool:
    """Write only what differs, so that unchanged tools keep their row; True when any definition differs."""
    rows = db.execute("SELECT name, position, fingerprint FROM tools WHERE launch_key = ?", (launch_key,))
    old = {name: (position, fingerprint) for name, position, fingerprint in rows}
    gone = [name for name in old if name not in new]
    db.executemany("DELETE FROM tools WHERE launch_key = ? AND name = ?", [(launch_key, name) for name in gone])
    for position, tool in enumerate(new.values()):
        if old.get(tool.name) != (position, tool.fingerprint):
            db.execute(_SAVE_TOOL, (launch_key, tool.name, position, tool.fingerprint, tool.definition))
    return {name: fingerprint for name, (_, fingerprint) in old.items()} != {
        tool.name: tool.fingerprint for tool in new.values()
    }


def _replace_items(db: sqlite3.Connection, launch_key: str, listed: Sequence[ItemRow], kept: Sequence[str]) -> bool:
    """Write what a server offers besides tools, unless it is what is there; True when it differs. Some kinds are kept."""
    query = "SELECT kind, name, definition, fingerprint FROM items WHERE launch_key = ? ORDER BY position"
    old = [ItemRow(*row) for row in db.execute(query, (launch_key,))]
    new = with_kept(listed, old, kept)
    if old == new:
        return False
    db.execute("DELETE FROM items WHERE launch_key = ?", (launch_key,))
    rows = ((launch_key, one.kind, at, one.name, one.fingerprint, one.definition) for at, one in enumerate(new))
    db.executemany(_SAVE_ITEM, rows)
    return True


def _note_change(db: sqlite3.Connection) -> None:
    db.execute("UPDATE catalogue SET change_token = change_token + 1")
