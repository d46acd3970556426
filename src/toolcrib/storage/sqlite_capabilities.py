"""Proposals and registered capabilities in the catalog's SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from pathlib import Path

from toolcrib.approvals.store import CapabilityRow, ProposalRow
from toolcrib.storage.json_text import plain_text, to_json
from toolcrib.storage.sqlite_file import SqliteFile

_PROPOSAL = "SELECT id, server, version, state, requested_at, body FROM proposals"
_DROP_OLD_PROPOSALS = """
DELETE FROM proposals WHERE id IN (
    SELECT id FROM proposals WHERE server = ? AND state IN (SELECT value FROM json_each(?))
    ORDER BY version DESC LIMIT -1 OFFSET ?
)
"""
_CAPABILITY = "SELECT id, version, body, registered_at FROM capabilities"
_TO_HISTORY = """
INSERT INTO capability_history (id, version, body, registered_at)
SELECT id, version, body, registered_at FROM capabilities WHERE id = ?
"""


class SqliteCapabilities:
    """Fulfils `CapabilityStore`."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path, read_only=False)

    def proposals(self, *, server: str | None = None, state: str | None = None) -> list[ProposalRow]:
        wanted = {"server": server and plain_text(server), "state": state}
        columns = [column for column, value in wanted.items() if value is not None]
        where = f"WHERE {' AND '.join(f'{column} = :{column}' for column in columns)} " if columns else ""
        with self._file.connection() as db:
            return [ProposalRow(*row) for row in db.execute(f"{_PROPOSAL} {where}ORDER BY requested_at, id", wanted)]

    def newest_version(self, server: str) -> int:
        query = "SELECT ifnull(max(version), 0) FROM proposals WHERE server = ?"
        with self._file.connection() as db:
            return int(db.execute(query, (plain_text(server),)).fetchone()[0])

    def proposal(self, id: str) -> ProposalRow | None:
        with self._file.connection() as db:
            row = db.execute(f"{_PROPOSAL} WHERE id = ?", (plain_text(id),)).fetchone()
        return None if row is None else ProposalRow(*row)

    def add_proposal(self, row: ProposalRow) -> bool:
        values = (row.id, row.server, row.version, row.state, row.requested_at, row.body)
        with self._file.transaction() as db:
            return db.execute("INSERT OR IGNORE INTO proposals VALUES (?, ?, ?, ?, ?, ?)", values).rowcount == 1

    def change_proposal(self, row: ProposalRow, *, was: str) -> bool:
        values = (row.state, row.body, row.id, was)
        with self._file.transaction() as db:
            changed = db.execute("UPDATE proposals SET state = ?, body = ? WHERE id = ? AND state = ?", values)
            return changed.rowcount == 1

    def drop_old_proposals(self, server: str, states: Collection[str], *, keep: int) -> None:
        values = (plain_text(server), to_json(sorted(states)), keep)
        with self._file.transaction() as db:
            db.execute(_DROP_OLD_PROPOSALS, values)

    def capabilities(self) -> list[CapabilityRow]:
        with self._file.connection() as db:
            return [CapabilityRow(*row) for row in db.execute(f"{_CAPABILITY} ORDER BY id")]

    def capability(self, id: str) -> CapabilityRow | None:
        with self._file.connection() as db:
            return _capability(db, id)

    def save_capability(self, row: CapabilityRow, *, replaces: CapabilityRow | None) -> bool:
        with self._file.transaction() as db:
            if _capability(db, row.id) != replaces:
                return False
            db.execute(_TO_HISTORY, (row.id,))
            values = (row.id, row.version, row.body, row.registered_at)
            db.execute("INSERT OR REPLACE INTO capabilities VALUES (?, ?, ?, ?)", values)
            return True

    def remove_capability(self, id: str) -> bool:
        with self._file.transaction() as db:
            db.execute(_TO_HISTORY, (id,))
            return db.execute("DELETE FROM capabilities WHERE id = ?", (id,)).rowcount == 1

    def capability_history(self, id: str) -> list[CapabilityRow]:
        query = "SELECT id, version, body, registered_at FROM capability_history WHERE id = ? ORDER BY rowid"
        with self._file.connection() as db:
            return [CapabilityRow(*row) for row in db.execute(query, (plain_text(id),))]

    def close(self) -> None:
        self._file.close()


def _capability(db: sqlite3.Connection, id: str) -> CapabilityRow | None:
    row = db.execute(f"{_CAPABILITY} WHERE id = ?", (plain_text(id),)).fetchone()
    return None if row is None else CapabilityRow(*row)
