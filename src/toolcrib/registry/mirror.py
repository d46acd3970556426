"""What the registries listed when they were last read, searched without network."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolcrib.errors import StoreUnavailable
from toolcrib.registry.answers import KeptAnswer
from toolcrib.registry.entry import RegistryServer
from toolcrib.registry.mirror_file import MirrorFile
from toolcrib.registry.pages import Listed, read_one
from toolcrib.registry.versions import order

_MOST_ANSWERS = 500


@dataclass(frozen=True, slots=True)
class Mirrored:
    """As much of a server as a search needs."""

    name: str
    title: str
    description: str
    status: str
    registry: str


@dataclass(frozen=True, slots=True)
class SyncState:
    """How far the reading of one registry is; `run` counts full readings, `done_at` is the last one that ended."""

    run: int = 0
    since: str = ""
    cursor: str = ""
    newest: str = ""
    began_at: float | None = None
    done_at: float | None = None


class Mirror:
    """The copy on disk, and the answers to single questions (`Answers`); nothing here is the truth about anything.

    Every method but `get` and `put` may raise StoreUnavailable.
    """

    def __init__(self, path: Path, *, now: Callable[[], float], fresh_seconds: float = 3600.0) -> None:
        self._file = MirrorFile(path)
        self._path = path
        self._now = now
        self._fresh_seconds = fresh_seconds

    def close(self) -> None:
        self._file.close()

    def beside(self, name: str) -> Path:
        """Where something made from the copy is kept."""
        return self._path.with_name(name)

    # -- looking

    def read_at(self, registries: Sequence[str]) -> float | None:
        """When the copy of these registries was complete, the oldest of them; None while one was never read whole."""
        if not self._file.exists or not registries:
            return None
        with self._file.transaction() as db:
            rows = dict(db.execute("SELECT registry, done_at FROM syncs WHERE done_at IS NOT NULL"))
        times = [rows.get(registry) for registry in registries]
        return None if None in times else min(time for time in times if time is not None)

    def mark(self, registries: Sequence[str]) -> object:
        """A value that differs when the copy has changed."""
        with self._file.transaction() as db:
            rows = db.execute("SELECT registry, run, newest, done_at FROM syncs ORDER BY registry").fetchall()
        return tuple(row for row in rows if row[0] in registries)

    def servers(self, registries: Sequence[str]) -> list[Mirrored]:
        """All servers; where two registries have one name, that of the first."""
        with self._file.transaction() as db:
            rows = db.execute("SELECT registry, name, title, description, status FROM servers").fetchall()
        rank = {registry: number for number, registry in enumerate(registries)}
        known = sorted((row for row in rows if row[0] in rank), key=lambda row: (row[1], -rank[row[0]]))
        by_name = {row[1]: Mirrored(row[1], row[2], row[3], row[4], row[0]) for row in known}
        return list(by_name.values())

    def server(self, name: str, registries: Sequence[str]) -> RegistryServer | None:
        """One server in full, whatever the case of its name is typed in."""
        with self._file.transaction() as db:
            rows = db.execute(
                "SELECT registry, entry, name FROM servers WHERE name = ? COLLATE NOCASE", (name,)
            ).fetchall()
        ranked = [row for row in rows if row[0] in registries]
        ranked.sort(key=lambda row: (row[2] != name, registries.index(row[0])))
        return read_one(ranked[0][1], ranked[0][0]) if ranked else None

    # -- filling

    def state(self, registry: str) -> SyncState:
        with self._file.transaction() as db:
            row = db.execute(
                "SELECT run, since, cursor, newest, began_at, done_at FROM syncs WHERE registry = ?", (registry,)
            ).fetchone()
        return SyncState(*row) if row else SyncState()

    def take(self, registry: str, entries: Iterable[Listed], state: SyncState) -> None:
        """Take over one page and how far we are, both or neither."""
        with self._file.transaction() as db:
            for entry in entries:
                _take_entry(db, registry, entry, state.run)
            _save_state(db, registry, state)

    def finish(self, registry: str, state: SyncState, *, is_full: bool) -> None:
        """The reading came to its end; after a full one, what was not listed any more is gone."""
        with self._file.transaction() as db:
            if is_full:
                db.execute("DELETE FROM servers WHERE registry = ? AND run < ?", (registry, state.run))
            _save_state(db, registry, state)

    # -- answers to single questions

    def get(self, url: str) -> KeptAnswer | None:
        with suppress(StoreUnavailable), self._file.transaction() as db:
            row = db.execute("SELECT body, etag, at FROM answers WHERE url = ?", (url,)).fetchone()
            if row is not None:
                return KeptAnswer(row[0], row[1], is_fresh=0 <= self._now() - row[2] < self._fresh_seconds)
        return None

    def put(self, url: str, etag: str, body: bytes) -> None:
        with suppress(StoreUnavailable), self._file.transaction() as db:
            db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", (url, etag, body, self._now()))
            db.execute(
                "DELETE FROM answers WHERE url NOT IN (SELECT url FROM answers ORDER BY at DESC LIMIT ?)",
                (_MOST_ANSWERS,),
            )


def _take_entry(db: sqlite3.Connection, registry: str, entry: Listed, run: int) -> None:
    server = entry.server
    row = db.execute(
        "SELECT entry, run FROM servers WHERE registry = ? AND name = ?", (registry, server.name)
    ).fetchone()
    known = read_one(row[0], registry) if row else None
    # What the registry calls its latest wins; else an older version must not take a newer one's place, nor take it away.
    is_older = known is not None and known.version != server.version and order(known) > order(server)
    if is_older and server.is_latest is not True:
        if row[1] < run:
            db.execute("UPDATE servers SET run = ? WHERE registry = ? AND name = ?", (run, registry, server.name))
        return
    if server.status == "deleted":
        db.execute("DELETE FROM servers WHERE registry = ? AND name = ?", (registry, server.name))
        return
    values = (registry, server.name, server.version, server.status, server.title, server.description, run, entry.json)
    db.execute("INSERT OR REPLACE INTO servers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)


def _save_state(db: sqlite3.Connection, registry: str, state: SyncState) -> None:
    db.execute(
        "INSERT OR REPLACE INTO syncs VALUES (?, ?, ?, ?, ?, ?, ?)",
        (registry, state.run, state.since, state.cursor, state.newest, state.began_at, state.done_at),
    )
