from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from toolcrib.errors import ConfigurationError
from toolcrib.storage.migrate import bundled_migrations, migrate

FIRST = "CREATE TABLE one (value TEXT DEFAULT 'a;b');\n-- a comment; with a semicolon\nINSERT INTO one VALUES ('x');\n"
SECOND = "CREATE TABLE two (value TEXT);\nINSERT INTO two SELECT value FROM one;\n"
BROKEN = "CREATE TABLE three (value TEXT);\nINSERT INTO nowhere VALUES (1);\n"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "some.db", isolation_level=None)) as connection:
        yield connection


def state(db: sqlite3.Connection) -> tuple[int, list[str]]:
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return db.execute("PRAGMA user_version").fetchone()[0], [name for (name,) in tables]


def test_an_empty_file_gets_every_bundled_step(db: sqlite3.Connection) -> None:
    migrate(db, bundled_migrations())

    assert state(db) == (
        len(bundled_migrations()),
        [
            "capabilities",
            "capability_history",
            "catalogue",
            "findings",
            "gateways",
            "items",
            "learnt_shapes",
            "leases",
            "peers",
            "pinned",
            "pins",
            "proposals",
            "refused_definitions",
            "servers",
            "tools",
            "vectors",
        ],
    )


def test_migrating_twice_changes_nothing(db: sqlite3.Connection) -> None:
    migrate(db, bundled_migrations())
    before = list(db.iterdump())
    migrate(db, bundled_migrations())

    assert list(db.iterdump()) == before


def test_only_the_missing_steps_are_applied_and_the_data_stays(db: sqlite3.Connection) -> None:
    migrate(db, [FIRST])
    migrate(db, [FIRST, SECOND])

    assert state(db) == (2, ["one", "two"])
    assert db.execute("SELECT value FROM two").fetchall() == [("x",)]


def test_failures_known_before_they_were_counted_count_once(db: sqlite3.Connection) -> None:
    migrate(db, bundled_migrations()[:4])
    insert = "INSERT INTO servers (name, launch_fingerprint, error, error_at) VALUES (?, ?, ?, ?)"
    db.executemany(insert, [("broken", "one", "it was down", 5.0), ("healthy", "two", "", None)])
    migrate(db, bundled_migrations())

    rows = db.execute("SELECT name, error, error_at, failures, error_code FROM servers ORDER BY name").fetchall()
    assert rows == [("broken", "it was down", 5.0, 1, ""), ("healthy", "", None, 0, "")]


def test_what_was_known_by_name_is_known_by_launch_afterwards(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA foreign_keys = ON")
    migrate(db, bundled_migrations()[:5])
    servers = [("files", "one", 2.0), ("web", "two", 3.0), ("documents", "one", 1.0)]
    db.executemany("INSERT INTO servers (name, launch_fingerprint, read_at) VALUES (?, ?, ?)", servers)
    tools = [(name, "read", 0, "hash", "{}") for name, _, _ in servers]
    db.executemany("INSERT INTO tools VALUES (?, ?, ?, ?, ?)", tools)
    db.execute("INSERT INTO learnt_shapes VALUES ('web', 'read', 'hash', '{}', 3, 'calls', '', 9.0)")
    migrate(db, bundled_migrations())

    assert db.execute("SELECT launch_key, name, read_at FROM servers ORDER BY launch_key").fetchall() == [
        ("one", "files", 2.0),
        ("two", "web", 3.0),
    ]
    assert db.execute("SELECT launch_key, name FROM tools ORDER BY launch_key").fetchall() == [
        ("one", "read"),
        ("two", "read"),
    ]
    assert db.execute("SELECT launch_key, tool, samples FROM learnt_shapes").fetchall() == [("two", "read", 3)]
    db.execute("DELETE FROM servers WHERE launch_key = 'two'")
    assert db.execute("SELECT count(*) FROM learnt_shapes").fetchone() == (0,)


def test_a_step_that_fails_takes_the_whole_migration_back(db: sqlite3.Connection) -> None:
    migrate(db, [FIRST])
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(db, [FIRST, SECOND, BROKEN])

    assert state(db) == (1, ["one"])
    assert not db.in_transaction


def test_a_newer_file_is_refused_with_what_to_do(db: sqlite3.Connection) -> None:
    migrate(db, [FIRST, SECOND])
    with pytest.raises(ConfigurationError, match=r"some\.db") as caught:
        migrate(db, [FIRST], source="some.db")

    assert "Upgrade" in caught.value.hint
    assert state(db) == (2, ["one", "two"])
