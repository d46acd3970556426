from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes import FakeServer, FakeServers, spec, tool
from toolcrib import open_gateway
from toolcrib.catalog.store import CatalogStore
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.open_catalog import open_store
from toolcrib.errors import StoreUnavailable
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool_rule import ToolRule
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.workspace.workspace import offered, rule_book

READING = ServerReading(Identity("modern", "2026-07-28"), (tool("read"),))
BOTH = Settings(servers=(spec("files"), spec("web")))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.under(tmp_path / "state")


def test_the_catalog_is_kept_on_disk(paths: Paths) -> None:
    catalog = open_store(paths)

    assert isinstance(catalog, SqliteCatalog)
    assert paths.catalog.exists()
    catalog.close()


def test_a_disk_that_can_not_be_used_is_reported_and_memory_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")

    catalog = open_store(Paths.under(tmp_path / "file" / "state"))

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


async def stale(*shown: ServerSpec, store: CatalogStore) -> dict[str, bool]:
    """Which servers are marked as gone once an engine shows these."""
    async with open_gateway(settings=Settings(servers=shown), opener=FakeServers(FakeServer("files"))):
        return {record.name: record.stale for record in store.servers().values()}


async def test_definitions_of_a_server_that_left_stay_marked_stale_until_it_is_back() -> None:
    files, web = spec("files"), spec("web")
    store = open_store(Paths.of(os.environ))
    for server in (files, web):
        store.save_reading(server.name, server.launch_key, READING, time.time())

    left = await stale(files, store=store)
    kept = [found.name for found in store.tools(web.launch_key)]
    back = await stale(files, web, store=store)
    store.close()

    assert left == {"files": False, "web": True}
    assert kept == ["read"]
    assert back == {"files": False, "web": False}


async def test_a_catalog_that_can_not_be_written_is_reported_and_everything_is_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreUnavailable("the disk is full")

    gone = spec("gone")
    store = open_store(Paths.of(os.environ))
    store.save_reading("gone", gone.launch_key, READING, time.time())
    monkeypatch.setattr(SqliteCatalog, "mark_stale", full)
    async with open_gateway(settings=BOTH, opener=FakeServers(FakeServer("files"), FakeServer("web"))) as gateway:
        shown = [server.name for server in await gateway.list_servers()]
    store.close()

    assert "the disk is full" in caplog.text
    assert shown == ["files", "web"]
