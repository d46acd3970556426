"""A connection to one SQLite file that survives the file being damaged, moved or deleted."""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from toolcrib.errors import StoreUnavailable
from toolcrib.storage.file_lock import file_lock
from toolcrib.storage.migrate import bundled_migrations, migrate

BUSY_SECONDS = 5.0
_OPEN_WAIT_SECONDS = 10.0
_SIDE_FILES = ("-wal", "-shm")
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_log = logging.getLogger(__name__)

FileId = tuple[int, int]


class SqliteFile:
    """One connection, guarded by a lock; reopened when the file under its name is no longer the one it opened."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self._path = path
        self._read_only = read_only
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._file_id: FileId | None = None
        self._closed = False
        with self.connection():
            pass

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The connection for one use; whatever goes wrong with the file becomes `StoreUnavailable`.

        Rows that hold values of another type than we write count too, and so does a path that no file can have.
        """
        with self._lock:
            try:
                yield self._current()
            except (sqlite3.Error, OSError, msgspec.DecodeError, ValueError, TypeError) as error:
                if _is_damage(error) and self._file_id is not None:
                    self._set_damaged_file_aside(self._file_id)
                raise _unavailable(self._path, error) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection within a write transaction: all of it happens, or nothing."""
        with self.connection() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._drop()

    def _current(self) -> sqlite3.Connection:
        if self._closed:
            raise sqlite3.ProgrammingError("it was closed")
        if self._db is None or _file_id(self._path) != self._file_id:
            self._drop()
            self._db = open_database(self._path)
            self._file_id = _file_id(self._path)
            if self._read_only:
                self._db.execute("PRAGMA query_only = ON")
        return self._db

    def _drop(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None

    def _set_damaged_file_aside(self, seen: FileId) -> None:
        self._drop()
        with suppress(OSError), _opening_alone(self._path):
            if _file_id(self._path) == seen:
                _set_aside(self._path)


def open_database(path: Path) -> sqlite3.Connection:
    """Open a catalog file with the newest schema, made where missing; a damaged one is first moved aside.

    Raises `ConfigurationError` for a file from a newer Toolcrib, and otherwise what SQLite and the system raise.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _opening_alone(path):
        try:
            return _connect(path)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            _set_aside(path)
            return _connect(path)


@contextmanager
def _opening_alone(path: Path) -> Iterator[None]:
    # Creating, migrating and moving aside by name are only safe while no other process does the same.
    with file_lock(path.with_name(f"{path.name}.lock"), wait_seconds=_OPEN_WAIT_SECONDS) as taken:
        if not taken:
            raise TimeoutError("another process has been opening it for too long")
        yield


def _connect(path: Path) -> sqlite3.Connection:
    _make_private(path)
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        migrate(db, bundled_migrations(), source=str(path))
        db.execute("SELECT change_token FROM catalogue").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _make_private(path: Path) -> None:
    # SQLite gives its side files the mode of the main file, so this covers them too. A file that exists is never opened
    # here: closing it would drop the locks SQLite holds on it for this process, and others could then remove its log.
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            path.chmod(0o600)


def _set_aside(path: Path) -> None:
    for number in itertools.count(1):
        target = path.with_name(f"{path.name}.corrupt-{number}")
        if not target.exists():
            break
    # The log goes first: left behind, it would be played into the fresh file.
    for suffix in (*_SIDE_FILES, ""):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{suffix}", f"{target}{suffix}")
    _log.warning("%s was damaged; it is kept as %s and a new catalog was started", path, target.name)


def _is_damage(error: Exception) -> bool:
    if isinstance(error, msgspec.DecodeError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGE_CODES


def _file_id(path: Path) -> FileId | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _unavailable(path: Path, error: Exception) -> StoreUnavailable:
    return StoreUnavailable(
        f"the catalog {path} cannot be used: {error}",
        hint="Check free space and permissions of its folder, or move the file away; until then nothing is remembered "
        "between starts.",
    )
