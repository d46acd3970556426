"""The service as it is wired: one path to servers, one truth about them, settings that work."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes import FakeServer, FakeServers, eventually, spec, tool
from toolcrib import DiscoveryOptions, RateLimitConfig, RetryPolicy, Settings, open_discovery, open_gateway
from toolcrib.catalog.freshness import Freshness
from toolcrib.config.paths import Paths
from toolcrib.engine.from_settings import discovery_options
from toolcrib.errors import ServerConnectionError
from toolcrib.model.server import StdioLaunch
from toolcrib.storage.sqlite import SqliteCatalog

CACHED = DiscoveryOptions(use_cache=True)


def settings(*names: str, **more: Any) -> Settings:
    return Settings(servers=tuple(spec(name) for name in names), **more)


def catalog_tools(server: str) -> list[str]:
    catalog = SqliteCatalog(Paths.of(os.environ).catalog)
    try:
        return [known.name for known in catalog.tools(spec(server).launch_key)]
    finally:
        catalog.close()


async def test_what_the_service_reads_of_a_configured_server_is_in_the_catalog() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with open_gateway(settings=settings("files"), opener=servers, read_due=False) as gateway:
        await gateway.discovery_service.discover_tools(spec("files"))

        assert [one.name for one in await gateway.list_tools("files")] == ["read"]
        assert servers["files"].count("tools/list") == 1
    assert catalog_tools("files") == ["read"]


async def test_a_server_that_is_not_configured_leaves_no_trace_in_the_catalog() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]), FakeServer("guest", [tool("x")]))
    async with open_discovery(settings=settings("files"), opener=servers) as service:
        await service.discover_tools(spec("guest"))
        other = spec("files", launch=StdioLaunch("another"))
        await service.discover_tools(other)

    assert catalog_tools("guest") == catalog_tools("files") == []


async def test_a_failure_of_a_configured_server_is_written_down() -> None:
    async with open_gateway(settings=settings("gone"), opener=FakeServers(), read_due=False) as gateway:
        with pytest.raises(ServerConnectionError):
            await gateway.discovery_service.discover_tools(spec("gone"))

        assert (await gateway.list_servers())[0].status.reason.startswith("the command 'gone' was not found")


async def test_the_cache_never_hides_a_server_from_the_catalog() -> None:
    servers = FakeServers(FakeServer("files", [tool("read")]))
    async with open_discovery(settings=settings("files"), opener=servers) as service:
        await service.discover_tools(spec("files"), CACHED)
        await service.discover_tools(spec("files"), CACHED)
        assert servers["files"].count("tools/list") == 1
    Paths.of(os.environ).catalog.unlink()

    async with open_discovery(settings=settings("files"), opener=servers) as service:
        await service.discover_tools(spec("files"), CACHED)
    assert catalog_tools("files") == ["read"]


async def test_what_the_gateway_reads_anew_makes_the_cache_old() -> None:
    server = FakeServer("files", [tool("read")])
    async with open_gateway(settings=settings("files"), opener=FakeServers(server)) as gateway:
        await gateway.list_tools("files")
        service = gateway.discovery_service
        await service.discover_tools(spec("files"), CACHED)
        server.definitions = [tool("new")]
        await gateway.read_server("files")

        assert [one.tool_name for one in await service.discover_tools(spec("files"), CACHED)] == ["new"]


def test_the_settings_are_the_options_of_every_reading() -> None:
    chosen = discovery_options(
        Settings(
            discovery_rate=3.0,
            discovery_burst=4,
            max_retries=7,
            retry_delay_seconds=0.5,
            retry_max_delay_seconds=9.0,
            retry_multiplier=3.0,
            retry_jitter=0.2,
            max_parallel_discoveries=8,
        )
    )

    assert chosen.retry_policy == RetryPolicy(7, 500, 9000, 3.0, 0.2)
    assert chosen.rate_limit == RateLimitConfig(3.0, 4)
    assert chosen.max_parallel_discoveries == 8
    assert discovery_options(Settings()) == DiscoveryOptions()


class CutOff(FakeServers):
    """The first connections are cut."""

    def __init__(self, cuts: int, *servers: FakeServer) -> None:
        super().__init__(*servers)
        self.cuts = cuts

    async def __call__(self, config: Any, ears: Any) -> Any:
        self.cuts -= 1
        if self.cuts >= 0:
            raise ServerConnectionError("cut", server=config.name, retryable=True)
        return await super().__call__(config, ears)


@pytest.mark.parametrize(("retries", "tools"), [(1, ["read"]), (0, [])])
async def test_the_background_reader_tries_again_as_the_settings_say(retries: int, tools: list[str]) -> None:
    servers = CutOff(1, FakeServer("files", [tool("read")]))
    quick = settings("files", max_retries=retries, retry_delay_seconds=0.01, retry_max_delay_seconds=0.01)
    async with asyncio.timeout(20), open_gateway(settings=quick, opener=servers, read_due=False) as gateway:
        if not tools:
            with pytest.raises(ServerConnectionError):
                await gateway.read_server("files")
        else:
            await gateway.read_server("files")

    assert catalog_tools("files") == tools


async def test_the_name_servers_meet_us_under_can_be_set() -> None:
    server = FakeServer("files", era="legacy")
    async with open_discovery(
        settings=settings("files", client_name="my-agent"), opener=FakeServers(server)
    ) as service:
        await service.discover_tools(spec("files"))

    (introduced,) = [params["clientInfo"] for method, params in server.heard if method == "initialize"]
    assert introduced["name"] == "my-agent"


async def test_a_reload_takes_over_cache_times_and_limits(tmp_path: Path) -> None:
    def write(**section: Any) -> Path:
        path = tmp_path / "toolcrib.yaml"
        servers = [{"name": "files", "command": "fake", "args": ["files"]}]
        path.write_text(yaml.safe_dump({"discovery": {"servers": servers, **section}}), encoding="utf-8")
        return path

    gate = asyncio.Event()

    async def wait(_: Any) -> Any:
        await gate.wait()
        return {"content": []}

    server = FakeServer("files", [tool("wait"), tool("read")], tools={"wait": wait})
    async with asyncio.timeout(20), open_gateway(write(), opener=FakeServers(server)) as gateway:
        service = gateway.discovery_service
        await gateway.list_tools("files")
        write(
            maxCalls=1,
            callRate=0.001,
            toolCacheTtl=0,
            registryCacheTtl=5,
            maxRetries=9,
            discoveryRate=2,
            cache={"ttl": 7},
        )
        await gateway.reload()

        assert (service.cache.tool_ttl_seconds, service.cache.registry_ttl_seconds) == (0, 5)
        assert service.options.retry_policy.max_retries == 9
        assert service.options.rate_limit.requests_per_second == 2
        running = asyncio.create_task(gateway.execute_tool("files", "wait"))
        await eventually(lambda: server.running)
        assert (await gateway.execute_tool("files", "read")).error.code == "OVERLOADED"
        gate.set()
        assert (await running).success
        assert (await gateway.execute_tool("files", "read")).error.code == "RATE_LIMITED"
        before = server.count("tools/list")
        await gateway.list_tools("files")  # a reading is never fresh now
        await eventually(lambda: server.count("tools/list") > before)


async def test_the_number_of_readings_at_once_follows_a_reload() -> None:
    servers = FakeServers(*(FakeServer(f"s{number}", [tool("x")]) for number in range(6)))
    names = [f"s{number}" for number in range(6)]
    async with open_gateway(settings=settings(*names), opener=servers, read_due=False) as gateway:
        gateway._refresher.configure(max_parallel=1, freshness=Freshness(), always_reread=False)
        gateway._refresher.configure(max_parallel=6, freshness=Freshness(), always_reread=False)
        gateway._refresher.refresh_due()
        await eventually(lambda: gateway._refresher.pending(gateway._view.specs) == 0)

        assert len([server for server in names if servers[server].starts]) == 6
