from __future__ import annotations

import logging
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import ConfigurationError, StoreUnavailable
from toolcrib.model.pin import Pin
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.migrate import bundled_migrations, migrate
from toolcrib.storage.sqlite import SqliteCatalog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "catalogue.db"


def save(catalog: SqliteCatalog, server: str, *names: str, size: int = 10) -> None:
    tools = tuple({"name": name, "description": "x" * size} for name in names)
    catalog.save_reading(server, server, ServerReading(Identity("modern", "1"), tools), 1.0)


def seed(path: Path, tools: int = 2, size: int = 10) -> None:
    with closing(SqliteCatalog(path)) as catalog:
        save(catalog, "files", *(f"tool-{number}" for number in range(tools)), size=size)


def test_what_was_saved_is_there_after_a_restart(path: Path) -> None:
    seed(path)
    with closing(SqliteCatalog(path)) as catalog:
        assert [tool.id for tool in catalog.all_tools()] == ["files:tool-0", "files:tool-1"]


def test_the_files_are_for_their_owner_only(path: Path) -> None:
    with closing(SqliteCatalog(path)) as catalog:
        save(catalog, "files", "read")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {"catalogue.db", "catalogue.db-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_a_file_readable_by_others_is_closed_to_them(path: Path) -> None:
    seed(path)
    path.chmod(0o644)
    seed(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_unchanged_tool_keeps_its_row(path: Path) -> None:
    def rows() -> dict[str, int]:
        with closing(sqlite3.connect(path)) as db:
            return dict(db.execute("SELECT name, rowid FROM tools"))

    with closing(SqliteCatalog(path)) as catalog:
        save(catalog, "files", "a", "b", "c")
        before = rows()
        save(catalog, "files", "b", "a", "new")
        after = rows()

    assert {name: after[name] for name in ("a", "b")} == {name: before[name] for name in ("a", "b")}
    assert set(after) == {"a", "b", "new"}


def test_a_reader_sees_what_another_connection_wrote(path: Path) -> None:
    with closing(SqliteCatalog(path)) as mine, closing(SqliteCatalog(path)) as theirs:
        before = mine.change_token()
        save(theirs, "files", "read")

        assert mine.change_token() != before
        assert [tool.id for tool in mine.all_tools()] == ["files:read"]


def test_reading_does_not_wait_for_a_write_in_progress(path: Path) -> None:
    seed(path)
    with closing(SqliteCatalog(path)) as catalog, closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM tools")

        assert len(catalog.all_tools()) == 2


def test_a_write_that_fails_half_way_changes_nothing(path: Path) -> None:
    with closing(SqliteCatalog(path)) as catalog:
        save(catalog, "files", "a")
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TRIGGER full BEFORE INSERT ON tools BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
        before = catalog.servers(), catalog.all_tools(), catalog.change_token()

        with pytest.raises(StoreUnavailable, match="disk is full"):
            save(catalog, "files", "a", "b")
        assert (catalog.servers(), catalog.all_tools(), catalog.change_token()) == before


def test_a_catalog_of_a_newer_toolcrib_is_refused_and_left_untouched(path: Path) -> None:
    seed(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")

    with pytest.raises(ConfigurationError, match="schema 99") as caught:
        SqliteCatalog(path)
    assert caught.value.problems[0].source == str(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM tools").fetchone() == (2,)


def test_a_file_that_is_no_database_is_moved_aside_and_reported(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    for number in (1, 2):
        path.write_bytes(b"this is no database " * number * 100)
        with caplog.at_level(logging.WARNING), closing(SqliteCatalog(path)) as catalog:
            assert catalog.all_tools() == []
        assert path.with_name(f"catalogue.db.corrupt-{number}").read_bytes() == b"this is no database " * number * 100
        assert f"catalogue.db.corrupt-{number}" in caplog.text


def test_a_damaged_page_found_while_reading_is_survived(path: Path) -> None:
    seed(path, tools=50, size=2000)
    content = path.read_bytes()
    half = len(content) // 2  # of the schema nothing is there any more
    path.write_bytes(content[:half] + b"\xff" * (len(content) - half))

    with closing(SqliteCatalog(path)) as catalog:
        with pytest.raises(StoreUnavailable):
            catalog.all_tools()
        save(catalog, "files", "read")
        assert [tool.id for tool in catalog.all_tools()] == ["files:read"]
    assert path.with_name("catalogue.db.corrupt-1").stat().st_size == len(content)


def test_a_definition_that_is_no_longer_json_counts_as_damage(path: Path) -> None:
    seed(path)
    with closing(SqliteCatalog(path)) as catalog:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE tools SET definition = '{'")
        with pytest.raises(StoreUnavailable):
            catalog.tools("files")
        assert catalog.tools("files") == []
    assert path.with_name("catalogue.db.corrupt-1").exists()


def test_an_identity_from_the_future_is_unknown_but_no_damage(path: Path) -> None:
    seed(path)
    with closing(SqliteCatalog(path)) as catalog:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("""UPDATE servers SET identity = '{"era":"future","protocol_version":"9"}'""")
        assert catalog.servers()["files"].identity is None
        assert len(catalog.tools("files")) == 2


def test_another_gateway_goes_on_with_the_fresh_file_after_one_was_moved_aside(path: Path) -> None:
    with closing(SqliteCatalog(path)) as first:
        save(first, "files", "old")
        token = first.change_token()
        path.rename(path.with_name("catalogue.db.corrupt-1"))
        path.with_name("catalogue.db-wal").unlink()
        path.with_name("catalogue.db-shm").unlink()
        with closing(SqliteCatalog(path)) as second:
            save(second, "files", "new")

            assert first.change_token() != token
            assert [tool.id for tool in first.all_tools()] == ["files:new"]
            save(first, "web", "get")
            assert list(second.servers()) == ["files", "web"]


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")

    with pytest.raises(StoreUnavailable, match="state"):
        SqliteCatalog(tmp_path / "state" / "catalogue.db")


def test_a_folder_in_place_of_the_file_is_reported_and_left_alone(path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(StoreUnavailable, match=r"catalogue\.db"):
        SqliteCatalog(path)
    assert path.is_dir()


@pytest.mark.parametrize(
    "use",
    [
        lambda catalog: catalog.servers(),
        lambda catalog: catalog.change_token(),
        lambda catalog: catalog.mark_stale(["files"]),
    ],
)
def test_a_closed_catalog_says_so(path: Path, use: Callable[[SqliteCatalog], Any]) -> None:
    catalog = SqliteCatalog(path)
    catalog.close()

    with pytest.raises(StoreUnavailable, match="closed"):
        use(catalog)


def test_vectors_are_there_after_a_restart(path: Path) -> None:
    with closing(SqliteCatalog(path)) as catalog:
        catalog.save_vectors("encoder", {b"one": b"vector"})
    with closing(SqliteCatalog(path)) as catalog:
        assert catalog.vectors("encoder", [b"one"]) == {b"one": b"vector"}


def test_far_too_many_vectors_are_dropped_rather_than_kept_for_ever(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib.storage.sqlite.MAX_VECTORS", 3)
    with closing(SqliteCatalog(path)) as catalog:
        for number in range(5):
            catalog.save_vectors("encoder", {bytes([number]): b"vector"})
        assert catalog.vectors("encoder", [bytes([number]) for number in range(5)]) == {b"\x04": b"vector"}


def test_a_catalog_of_before_there_were_vectors_takes_them(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        migrate(db, bundled_migrations()[:1])
    with closing(SqliteCatalog(path)) as catalog:
        save(catalog, "files", "read")
        catalog.save_vectors("encoder", {b"one": b"vector"})
        assert catalog.vectors("encoder", [b"one"]) == {b"one": b"vector"}


def test_what_was_agreed_to_before_several_definitions_could_be_stays_agreed_to(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        migrate(db, bundled_migrations()[:12])
        db.execute("INSERT INTO servers (launch_key, name, review_key) VALUES ('launch', 'files', 'key')")
        db.execute("INSERT INTO pinned VALUES ('key', 'files', 3, 'tool', 1, 5.0)")
        db.execute("INSERT INTO pins VALUES ('key', 'tool', 'read', 'f1', 'person:ann', 5.0, '{}')")
        db.execute("INSERT INTO refused_definitions VALUES ('key', 'f2', 'ann', 5.0)")

    with closing(SqliteCatalog(path)) as catalog:
        pins = catalog.pins("key", with_definitions=True)
        assert pins.pins == {("tool", "read"): Pin("tool", "read", "f1", "person:ann", 5.0, "{}")}
        assert (pins.revision, pins.refused, pins.earlier) == (3, {"f2"}, {})
        catalog.forget("launch")
        assert catalog.pins("key", with_definitions=True) == pins
