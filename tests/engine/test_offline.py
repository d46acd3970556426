from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes import spec, tool
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.offline import offered, open_catalog, open_offline, rule_book
from toolcrib.errors import StoreUnavailable
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.tool_rule import ToolRule
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.storage.sqlite import SqliteCatalog

READING = ServerReading(Identity("modern", "2026-07-28"), (tool("read"),))
BOTH = Settings(servers=(spec("files"), spec("web")))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.under(tmp_path / "state")


def test_the_catalog_is_kept_on_disk(paths: Paths) -> None:
    catalog = open_catalog(paths)

    assert isinstance(catalog, SqliteCatalog)
    assert paths.catalog.exists()
    catalog.close()


def test_a_disk_that_can_not_be_used_is_reported_and_memory_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    catalog = open_catalog(Paths.under(tmp_path / "file" / "state"))

    assert isinstance(catalog, MemoryCatalog)
    assert "kept in memory only" in caplog.text


def test_what_is_behind_the_counter_is_what_is_enabled() -> None:
    settings = Settings(servers=(spec("files"), replace(spec("web"), enabled=False)))

    assert [server.name for server in offered(settings)] == ["files"]
    assert offered(replace(settings, enabled=False)) == ()


def test_rules_are_taken_over_with_their_precedence() -> None:
    rules = (ToolRule(("*",), enabled=True), ToolRule(("delete*",), enabled=False, tags=("dangerous",)))

    by_refusal = rule_book(Settings(tool_rules=rules))
    by_first = rule_book(Settings(tool_rules=rules, rule_precedence="first"))

    assert (by_refusal.decide("files", "delete_file").enabled, by_first.decide("files", "delete_file").enabled) == (
        False,
        True,
    )
    assert by_refusal.decide("files", "delete_file").tags == ("dangerous",)


def test_definitions_of_a_server_that_left_stay_marked_stale_until_it_is_back(paths: Paths) -> None:
    offline = open_offline(BOTH, paths)
    for server in BOTH.servers:
        offline.view.save(server, READING)

    offline.configure(replace(BOTH, servers=(spec("files"),)))
    left = {name: record.stale for name, record in offline.store.servers().items()}
    kept = [found.name for found in offline.store.tools("web")]
    offline.configure(BOTH)
    back = {name: record.stale for name, record in offline.store.servers().items()}
    offline.store.close()

    assert left == {"files": False, "web": True}
    assert kept == ["read"]
    assert back == {"files": False, "web": False}


def test_a_catalog_that_can_not_be_written_is_reported_and_the_stock_is_shown(
    paths: Paths, caplog: pytest.LogCaptureFixture
) -> None:
    offline = open_offline(BOTH, paths)
    offline.view.save(spec("web"), READING)

    class ReadOnly(MemoryCatalog):
        def mark_stale(self, *_: object, **__: object) -> None:
            raise StoreUnavailable("the disk is full")

    store = ReadOnly()
    store.save_reading("gone", "launch", READING, 1.0)
    replace(offline, store=store).configure(BOTH)
    offline.store.close()

    assert "the disk is full" in caplog.text
    assert list(offline.view.specs) == ["files", "web"]
