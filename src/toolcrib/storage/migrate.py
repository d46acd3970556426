"""Brings a catalog file to the newest schema, one numbered step at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from importlib.resources import files

from toolcrib.errors import ConfigurationError, Problem


def bundled_migrations() -> tuple[str, ...]:
    """The scripts of `storage/migrations` in the order of their numbers; the first leads from nothing to version 1."""
    folder = files("toolcrib.storage").joinpath("migrations")
    scripts = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    return tuple(script.read_text(encoding="utf-8") for script in scripts)


def migrate(db: sqlite3.Connection, migrations: Sequence[str], *, source: str = "") -> None:
    """Apply the missing steps, all or none; a file from a newer Toolcrib is refused untouched.

    `db` must be in autocommit mode (`isolation_level=None`).
    """
    if _version(db, len(migrations), source) == len(migrations):
        return
    db.execute("BEGIN EXCLUSIVE")
    try:
        # Asked again: another process may have migrated while this one waited.
        for number in range(_version(db, len(migrations), source), len(migrations)):
            _apply(db, migrations[number], number + 1)
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _version(db: sqlite3.Connection, known: int, source: str) -> int:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > known:
        message = f"this catalog has schema {version}, written by a newer Toolcrib; this one knows up to {known}"
        raise ConfigurationError(
            [Problem("", message, source)],
            hint="Upgrade Toolcrib, or point TOOLCRIB_HOME at another folder.",
        )
    return version


def _apply(db: sqlite3.Connection, script: str, version: int) -> None:
    for statement in _statements(script):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {version}")


def _statements(script: str) -> Iterator[str]:
    # `executescript` would commit the transaction it is called in.
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
