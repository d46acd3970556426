"""The file of the mirror: a cache, so one that can't be read is thrown away and begun anew."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolcrib.clients.machine import is_there
from toolcrib.errors import StoreUnavailable

_BUSY_SECONDS = 5.0
# Another number means another shape: the old file is emptied, the next sync fills it again.
_SCHEMA = 1
_SCRIPT = """
CREATE TABLE servers (
  registry TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, status TEXT NOT NULL, title TEXT NOT NULL,
  description TEXT NOT NULL, run INTEGER NOT NULL, entry BLOB NOT NULL,
  PRIMARY KEY (registry, name)
) WITHOUT ROWID;
CREATE TABLE syncs (
  registry TEXT PRIMARY KEY, run INTEGER NOT NULL, since TEXT NOT NULL, cursor TEXT NOT NULL, newest TEXT NOT NULL,
  began_at REAL, done_at REAL
) WITHOUT ROWID;
CREATE TABLE answers (url TEXT PRIMARY KEY, etag TEXT NOT NULL, body BLOB NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
"""


class MirrorFile:
    """One connection to the file, opened on first use and made where missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None

    @property
    def exists(self) -> bool:
        return is_there(self._path)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written inside is there afterwards, or nothing; trouble with the file is StoreUnavailable."""
        with self._lock:
            try:
                db = self._opened()
                with db:
                    yield db
            except (sqlite3.Error, OSError, ValueError) as trouble:
                self._forget_damaged(trouble)
                raise StoreUnavailable(
                    f"the mirror of the registries can't be used: {trouble}",
                    hint=f"It is only a copy: delete {self._path}, then run `toolcrib registry sync`.",
                ) from trouble

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._make_tables(self._db)
        return self._db

    def _make_tables(self, db: sqlite3.Connection) -> None:
        if db.execute("PRAGMA user_version").fetchone()[0] == _SCHEMA:
            return
        with db:
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA user_version").fetchone()[0] == _SCHEMA:
                return  # another process was quicker
            for table in ("servers", "syncs", "answers"):
                db.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in filter(str.strip, _SCRIPT.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {_SCHEMA}")

    def _forget_damaged(self, trouble: Exception) -> None:
        code = getattr(trouble, "sqlite_errorcode", None) or 0
        if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            self.close()
            for suffix in ("-wal", "-shm", ""):
                with suppress(OSError):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)
