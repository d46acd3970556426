"""Who knows the tools of which server: the catalog those of configured ones, files of the cache those of all others."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.catalogs import FailingCatalog, save_tools
from tests.fakes import FakeServer, FakeServers, spec, text, tool
from toolcrib import DiscoveryOptions, MCPDiscoveryService, Settings, open_discovery, open_gateway
from toolcrib.catalog.followed import FollowedCatalog
from toolcrib.catalog.freshness import Freshness
from toolcrib.config.paths import Paths
from toolcrib.discovery.cache import CacheStats, MCPCache
from toolcrib.discovery.catalog_tools import CatalogTools
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import FROM_PROPOSAL, FROM_REGISTRY, Origin, RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.storage.sqlite import SqliteCatalog

CACHED = DiscoveryOptions(use_cache=True)
EAGER = DiscoveryOptions(introspect_output_schemas=True, lazy_output_schemas=False)


def settings(*specs: ServerSpec, **more: Any) -> Settings:
    return Settings(servers=specs, max_retries=0, **more)


def cache_dir() -> Path:
    return Paths.of(os.environ).cache_dir


def cache_files() -> list[str]:
    return sorted(path.name for path in cache_dir().glob("tools_*.json"))


def write_cache_file(config: ServerSpec, *names: str, launch: str | None = None, age_seconds: float = 0.0) -> None:
    """A file as earlier versions left one of every server that the service had read."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    entry = {
        "cached_at": time.time() - age_seconds,
        "server": config.name,
        "launch": config.launch_key if launch is None else launch,
        "tools": [{"definition": tool(name)} for name in names],
    }
    (cache_dir() / f"tools_{config.name}.json").write_text(json.dumps(entry), encoding="utf-8")


async def names(service: MCPDiscoveryService, config: ServerSpec, options: DiscoveryOptions = CACHED) -> list[str]:
    return [found.tool_name for found in await service.discover_tools(config, options)]


# -- configured servers: the catalog


async def test_what_the_gateway_read_the_service_knows_without_a_visit_and_without_a_file() -> None:
    server = FakeServer("files", [tool("read")])
    chosen, servers = settings(spec("files")), FakeServers(server)
    async with open_gateway(settings=chosen, opener=servers, read_due=False) as gateway:
        await gateway.list_tools("files")

        assert await names(gateway.discovery_service, spec("files")) == ["read"]
        assert gateway.discovery_service.cache.get_tools("files") == [{"definition": tool("read")}]
    async with open_discovery(settings=chosen, opener=servers) as service:
        assert await names(service, spec("files")) == ["read"]
        assert service.cache.stats == CacheStats(hits=1)

    assert server.count("tools/list") == 1
    assert cache_files() == []


async def test_what_the_service_read_a_search_finds_without_a_visit() -> None:
    server = FakeServer("files", [tool("read_file", "Reads a file from disk")])
    async with open_gateway(settings=settings(spec("files")), opener=FakeServers(server), read_due=False) as gateway:
        await gateway.discovery_service.warm_cache_for_all_configured_servers()

        found = await gateway.search_tools("read a file", limit=1)
        assert [hit.tool for hit in found.hits] == ["read_file"]
    assert server.count("tools/list") == 1
    assert cache_files() == []


async def test_a_list_that_another_process_changed_is_seen_by_the_service_and_the_gateway_at_once() -> None:
    server = FakeServer("files", [tool("old")])
    chosen, servers = settings(spec("files", on_change="warn")), FakeServers(server)
    async with open_gateway(settings=chosen, opener=servers, read_due=False) as gateway:
        service = gateway.discovery_service
        assert await names(service, spec("files")) == ["old"]
        server.definitions = [tool("new")]
        async with open_gateway(settings=chosen, opener=servers, read_due=False) as other:
            await other.read_server("files")

        assert await names(service, spec("files")) == ["new"]
        assert [one.name for one in await gateway.list_tools("files")] == ["new"]
    assert server.count("tools/list") == 2


async def test_whoever_changes_an_answer_changes_nothing_for_others() -> None:
    server = FakeServer("files", [tool("read", "Reads.")])
    async with open_gateway(settings=settings(spec("files")), opener=FakeServers(server), read_due=False) as gateway:
        service = gateway.discovery_service
        await names(service, spec("files"))
        (mine,) = await service.discover_tools(spec("files"), CACHED)
        mine.definition["inputSchema"]["type"] = mine.definition["description"] = "mine"  # type: ignore[index]

        (again,) = await service.discover_tools(spec("files"), CACHED)
        assert again.definition == tool("read", "Reads.")
        assert [one.summary for one in await gateway.list_tools("files")] == ["Reads."]


async def test_a_reading_that_outlived_its_time_is_made_anew() -> None:
    server, config = FakeServer("files", [tool("new")]), spec("files")
    catalog = SqliteCatalog(Paths.of(os.environ).catalog)
    old = ServerReading(Identity("modern", "2026-07-28", {"name": "files", "version": "1.0"}), (tool("old"),))
    catalog.save_reading("files", config.launch_key, old, time.time() - 3601)
    catalog.close()

    async with open_discovery(settings=settings(config), opener=FakeServers(server)) as service:
        assert await names(service, config) == ["old"]
    an_hour = settings(config, tool_cache_ttl_seconds=3600.0)
    async with open_discovery(settings=an_hour, opener=FakeServers(server)) as service:
        for _ in range(2):
            assert await names(service, config) == ["new"]
    assert server.count("tools/list") == 1


async def test_with_a_time_of_nothing_every_question_is_a_visit() -> None:
    server = FakeServer("files", [tool("read")])
    chosen = settings(spec("files"), tool_cache_ttl_seconds=0.0)
    async with open_discovery(settings=chosen, opener=FakeServers(server)) as service:
        for _ in range(3):
            assert await names(service, spec("files")) == ["read"]
        assert service.cache.get_tools("files") is None

    assert server.count("tools/list") == 3


async def test_what_was_learnt_of_results_is_known_to_later_answers_without_a_visit() -> None:
    config = spec("github", prefix="my_")
    answers = {"get_me": lambda _: text('{"id": 5}')}
    server = FakeServer("github", [tool("get_me"), tool("delete_me")], tools=answers)
    servers = FakeServers(server)
    async with open_discovery(settings=settings(config), opener=servers) as service:
        learnt = await service.discover_tools(config, EAGER)
    async with open_discovery(settings=settings(config), opener=servers) as service:
        known = await service.discover_tools(config, CACHED)

    assert known == learnt
    assert [one.output_schema_json is None for one in known] == [False, True]
    assert (server.count("tools/list"), [name for name, _ in server.calls]) == (1, ["get_me"])


async def test_what_was_learnt_of_a_server_under_another_name_is_kept_with_its_launch() -> None:
    config = spec("github")
    alias = replace(config, name="mine")
    server = FakeServer("github", [tool("get_me")], tools={"get_me": lambda _: text("[1]")})
    async with open_discovery(settings=settings(config), opener=FakeServers(server)) as service:
        learnt = await service.discover_tools(alias, EAGER)
        assert learnt[0].output_schema_json is not None
        assert await service.discover_tools(config, CACHED) == learnt
    assert server.count("tools/list") == 1
    assert cache_files() == []


# -- everybody else: files


async def test_a_server_that_is_not_configured_is_kept_in_a_file_for_its_time() -> None:
    server = FakeServer("guest", [tool("x")])
    servers = FakeServers(server)
    async with open_discovery(settings=settings(spec("files")), opener=servers) as service:
        await names(service, spec("guest"))
    async with open_discovery(settings=settings(spec("files")), opener=servers) as service:
        assert await names(service, spec("guest")) == ["x"]
    assert (server.count("tools/list"), cache_files()) == (1, ["tools_guest.json"])

    write_cache_file(spec("guest"), "aged", age_seconds=86_390)
    async with open_discovery(settings=settings(), opener=servers) as service:
        assert await names(service, spec("guest")) == ["aged"]
    write_cache_file(spec("guest"), "aged", age_seconds=86_410)
    async with open_discovery(settings=settings(), opener=servers) as service:
        assert await names(service, spec("guest")) == ["x"]
    assert server.count("tools/list") == 2


CONFIGURED = ServerSpec("files", RemoteLaunch("https://93.184.216.34/mcp"))


@pytest.mark.parametrize(
    ("change", "options", "place"),
    [
        pytest.param({}, DiscoveryOptions(), "catalog", id="as configured"),
        pytest.param({"name": "other"}, DiscoveryOptions(), "catalog", id="the same launch under another name"),
        pytest.param(
            {"prefix": "my_", "timeout_seconds": 9.0}, DiscoveryOptions(), "catalog", id="another entry of it"
        ),
        pytest.param({"launch": StdioLaunch("files")}, DiscoveryOptions(), "file", id="another launch of that name"),
        pytest.param({"origin": Origin(FROM_REGISTRY)}, DiscoveryOptions(), "file", id="found in a registry"),
        pytest.param({"origin": Origin(FROM_PROPOSAL)}, DiscoveryOptions(), "file", id="only proposed"),
        pytest.param({}, DiscoveryOptions(auth_headers={"x-key": "1"}), "file", id="signed in by the caller"),
    ],
)
async def test_the_catalog_keeps_configured_launches_and_files_keep_all_others(
    change: dict[str, Any], options: DiscoveryOptions, place: str
) -> None:
    config = replace(CONFIGURED, **change)
    server = FakeServer("files", [tool("read")])
    chosen, servers = settings(CONFIGURED), FakeServers(server)
    async with open_discovery(settings=chosen, opener=servers) as service:
        await service.discover_tools(config, options)
    known = SqliteCatalog(Paths.of(os.environ).catalog)
    try:
        in_catalog = [one.id for one in known.all_tools()]
    finally:
        known.close()

    async with open_discovery(settings=chosen, opener=servers) as service:
        assert await names(service, config, replace(options, use_cache=True)) == ["read"]
    assert server.count("tools/list") == 1
    if place == "catalog":
        assert (in_catalog, cache_files()) == (["files:read"], [])
    else:
        assert (in_catalog, cache_files()) == ([], [f"tools_{config.name}.json"])


async def test_what_a_stranger_says_is_not_taken_for_the_word_of_a_configured_server() -> None:
    stranger = replace(CONFIGURED, origin=Origin(FROM_REGISTRY))
    server = FakeServer("files", [tool("for_anybody")])
    servers = FakeServers(server)
    async with open_discovery(settings=settings(CONFIGURED), opener=servers) as service:
        await names(service, stranger)
        server.definitions = [tool("for_us")]

        assert await names(service, CONFIGURED) == ["for_us"]
        assert await names(service, stranger) == ["for_anybody"]


# -- files of earlier versions


@pytest.mark.parametrize("launch", [None, ""])
async def test_an_old_file_of_a_configured_server_is_ignored_and_removed(launch: str | None) -> None:
    write_cache_file(spec("files"), "invented", launch=launch)
    server = FakeServer("files", [tool("read")])
    async with open_discovery(settings=settings(spec("files")), opener=FakeServers(server)) as service:
        assert cache_files() == []
        assert await names(service, spec("files")) == ["read"]
        write_cache_file(spec("files"), "invented", launch=launch)  # an earlier version runs beside us

        assert await names(service, spec("files")) == ["read"]
        assert cache_files() == []


async def test_a_file_of_a_former_launch_goes_when_its_time_is_over() -> None:
    former = replace(spec("files"), launch=StdioLaunch("former"))
    for age_seconds, left in ((86_390.0, ["tools_files.json"]), (86_410.0, [])):
        write_cache_file(former, "invented", age_seconds=age_seconds)
        async with open_discovery(settings=settings(spec("files")), opener=FakeServers()):
            assert cache_files() == left


async def test_the_file_of_a_server_goes_when_somebody_configures_it(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.yaml"

    def write(*entries: dict[str, Any]) -> None:
        path.write_text(yaml.safe_dump({"discovery": {"servers": list(entries)}}), encoding="utf-8")

    entry = {"name": "guest", "command": "fake", "args": ["guest"]}
    guest = ServerSpec("guest", StdioLaunch("fake", ("guest",)))
    server = FakeServer("guest", [tool("x")])
    write()
    async with open_gateway(path, opener=FakeServers(server), read_due=False) as gateway:
        await names(gateway.discovery_service, guest)
        assert cache_files() == ["tools_guest.json"]
        write(entry)
        (configured,) = (await gateway.reload()).servers

        assert configured.launch_key == guest.launch_key
        assert cache_files() == []
        assert await names(gateway.discovery_service, guest) == ["x"]
        assert [one.name for one in await gateway.list_tools("guest")] == ["x"]
    assert server.count("tools/list") == 2


# -- clearing


@pytest.mark.parametrize("everything", [True, False])
async def test_a_cleared_server_is_read_again_once_and_the_gateway_keeps_its_tools(everything: bool) -> None:
    server = FakeServer("files", [tool("read")])
    async with open_gateway(settings=settings(spec("files")), opener=FakeServers(server), read_due=False) as gateway:
        service = gateway.discovery_service
        await names(service, spec("files"))
        clear(service, everything)

        assert service.cache.get_tools("files") is None
        assert [one.name for one in await gateway.all_tools()] == ["read"]
        for _ in range(2):
            assert await names(service, spec("files")) == ["read"]
    assert server.count("tools/list") == 2


@pytest.mark.parametrize("everything", [True, False])
async def test_what_was_cleared_is_read_again_by_a_later_process_too(everything: bool) -> None:
    server = FakeServer("files", [tool("read")])
    chosen, servers = settings(spec("files")), FakeServers(server)
    async with open_discovery(settings=chosen, opener=servers) as service:
        await names(service, spec("files"))
        clear(service, everything)
    async with open_discovery(settings=chosen, opener=servers) as service:
        for _ in range(2):
            assert await names(service, spec("files")) == ["read"]
    assert server.count("tools/list") == 2


async def test_clearing_one_server_leaves_the_others_known() -> None:
    files, notes = FakeServer("files", [tool("read")]), FakeServer("notes", [tool("write")])
    chosen = settings(spec("files"), spec("notes"))
    async with open_discovery(settings=chosen, opener=FakeServers(files, notes)) as service:
        await service.warm_cache_for_all_configured_servers()
        service.cache.clear_server("files")
        await service.warm_cache_for_all_configured_servers()

    assert (files.count("tools/list"), notes.count("tools/list")) == (2, 1)


def clear(service: MCPDiscoveryService, everything: bool) -> None:
    if everything:
        service.cache.clear()
    else:
        service.cache.clear_server("files")


async def test_a_server_that_was_invalidated_is_visited_by_the_service_as_well() -> None:
    server = FakeServer("files", [tool("read")])
    async with open_gateway(settings=settings(spec("files")), opener=FakeServers(server), read_due=False) as gateway:
        await gateway.list_tools("files")
        await gateway.invalidate("files")
        server.definitions = [tool("new")]

        assert await names(gateway.discovery_service, spec("files")) == ["new"]


async def test_a_program_cannot_put_words_into_a_configured_servers_mouth() -> None:
    server = FakeServer("files", [tool("read")])
    async with open_discovery(settings=settings(spec("files")), opener=FakeServers(server)) as service:
        service.cache.store_tools("files", [{"definition": tool("invented")}])
        service.cache.store_tools("files", [{"definition": tool("invented")}], spec("files").launch_key)

        assert service.cache.get_tools("files") is None
        assert await names(service, spec("files")) == ["read"]
    assert cache_files() == []


async def test_where_the_catalog_cannot_be_asked_the_server_is() -> None:
    store = FailingCatalog("learnt_shapes", "expire", "save_shape")
    catalog = FollowedCatalog(store, now=lambda: 1.0)
    save_tools(store, "files", "read")
    await catalog.follow()
    known = CatalogTools(catalog, lambda: [spec("files")], Freshness)
    cache = MCPCache(None, now=lambda: 1.0, configured=known)

    assert cache.get_tools("files") is None
    cache.store_tools("files", [{"definition": tool("read"), "output_schema_json": {"type": "string"}}])
    store.is_broken = False
    assert cache.get_tools("files") == [{"definition": tool("read")}]
    store.is_broken = True
    cache.clear()
    store.is_broken = False
    assert cache.get_tools("files") is None
