"""The library as a program uses it: waiting, looking, connecting, forgetting; servers in memory, all else real."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from tests.fakes import FakeServer, FakeServers, eventually, spec, text, tool
from toolcrib import Gateway, Settings, open_discovery, open_gateway, validate_config
from toolcrib.errors import ServerConnectionError, ServerNotFound
from toolcrib.model.tool_rule import ToolRule

READ = tool("read_file", "Read the content of a file.")
DELETE = tool("delete_file", "Delete a file for ever.")


@asynccontextmanager
async def opened(*servers: FakeServer, names: tuple[str, ...] = (), **more: Any) -> AsyncIterator[Gateway]:
    specs = tuple(spec(name) for name in names or [server.name for server in servers])
    settings = Settings(servers=specs, **more)
    async with asyncio.timeout(40), open_gateway(settings=settings, opener=FakeServers(*servers)) as gateway:
        yield gateway


class Gate:
    """Keeps a server from answering until it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self) -> None:
        await self.open.wait()


# -- ready


async def test_a_gateway_that_is_ready_knows_and_finds_the_tools_of_every_server() -> None:
    gate = Gate()
    slow = FakeServer("slow", [tool("send_letter", "Send a letter by mail.")], on_open=gate)
    async with opened(FakeServer("files", [READ]), slow) as gateway:
        waiting = asyncio.create_task(gateway.ready(30))
        await eventually(lambda: gateway._view.was_read("files"))
        assert not waiting.done()
        gate.open.set()
        assert await waiting
        assert (await gateway.search_tools("send a letter")).hits[0].tool == "send_letter"
        assert [server.tool_count for server in await gateway.list_servers()] == [1, 1]


async def test_waiting_for_a_gateway_ends_when_the_time_is_over() -> None:
    async with opened(FakeServer("slow", on_open=Gate())) as gateway:
        started = asyncio.get_running_loop().time()
        assert not await gateway.ready(0.2)
        assert asyncio.get_running_loop().time() - started < 5


async def test_a_server_that_can_not_be_read_does_not_make_anybody_wait_and_is_named() -> None:
    async with opened(FakeServer("files", [READ]), names=("files", "gone"), max_retries=0) as gateway:
        started = asyncio.get_running_loop().time()
        assert not await gateway.ready(30)
        assert asyncio.get_running_loop().time() - started < 20
        states = {server.name: server.status.state for server in await gateway.list_servers()}
    assert states["gone"] == "error"


async def test_a_gateway_that_reads_nothing_by_itself_reads_everything_to_be_ready() -> None:
    files = FakeServer("files", [READ])
    settings = Settings(servers=(spec("files"),))
    async with open_gateway(settings=settings, opener=FakeServers(files), read_due=False) as gateway:
        assert await gateway.all_tools() == []
        assert await gateway.ready(30)
        assert [one.name for one in await gateway.all_tools()] == ["read_file"]


# -- hits and nearest


async def test_where_nothing_fits_there_are_no_hits_and_the_nearest_tools_stand_apart() -> None:
    async with opened(FakeServer("files", [READ, DELETE])) as gateway:
        assert await gateway.ready(30)
        nothing = await gateway.search_tools("book a flight to the moon for the files team")
        found = await gateway.search_tools("read a file")
    assert (nothing.hits, list(nothing), len(nothing)) == ((), [], 0)
    assert nothing.note.startswith("Nothing fits")
    assert nothing.nearest
    assert {hit.server for hit in nothing.nearest} <= {"files", "toolcrib"}
    assert found.hits[0].tool == "read_file"
    assert found.nearest == ()


# -- all tools


async def test_all_tools_are_those_of_every_server_in_its_order_and_disabled_ones_on_request() -> None:
    rules = (ToolRule(("delete*",), enabled=False),)
    web = FakeServer("web", [tool("fetch")])
    async with opened(web, FakeServer("files", [READ, DELETE]), tool_rules=rules) as gateway:
        assert await gateway.ready(30)
        enabled = await gateway.all_tools()
        everything = await gateway.all_tools(include_disabled=True)
    assert [(one.server, one.name) for one in enabled] == [("web", "fetch"), ("files", "read_file")]
    assert [one.name for one in everything if not one.enabled] == ["delete_file"]


# -- arguments


async def test_arguments_that_can_not_be_checked_reach_the_server_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    elsewhere = {"type": "object", "properties": {"q": {"$ref": "https://example.com/q.json"}}}
    files = FakeServer("files", [tool("find", inputSchema=elsewhere)])
    async with opened(files) as gateway:
        for _ in range(3):
            assert (await gateway.execute_tool("files", "find", {"q": 1})).success
    assert files.calls == [("find", {"q": 1})] * 3
    assert [
        record.getMessage().partition(": ")[0]
        for record in caplog.records
        if "cannot validate arguments" in record.message
    ] == ["files:find"]


# -- connections


async def test_a_server_is_connected_and_disconnected_on_request_as_often_as_one_likes() -> None:
    files = FakeServer("files", [READ])
    async with opened(files) as gateway:
        assert await gateway.ready(30)
        for _ in range(7):
            await gateway.disconnect("files")
            assert not gateway.is_connected("files")
            assert files.open_links == []
            await gateway.connect("files")
            assert gateway.is_connected("files")
            assert len(files.open_links) == 1
        before = files.starts
        assert (await gateway.execute_tool("files", "read_file")).success
        assert files.starts == before
        await gateway.disconnect("files")
        assert (await gateway.execute_tool("files", "read_file")).success


async def test_a_call_that_runs_on_a_server_is_broken_off_by_disconnecting_it() -> None:
    started = asyncio.Event()

    async def endless(_: dict[str, Any]) -> dict[str, Any]:
        started.set()
        await asyncio.get_running_loop().create_future()
        return text("never")

    async with opened(FakeServer("files", [READ], tools={"read_file": endless})) as gateway:
        running = asyncio.create_task(gateway.execute_tool("files", "read_file"))
        await started.wait()
        await gateway.disconnect("files")
        outcome = await running
    assert outcome.error is not None
    assert outcome.error.code == "SERVER_CONNECTION_ERROR"


async def test_connecting_raises_what_keeps_us_from_a_server() -> None:
    async with opened(names=("gone",)) as gateway:
        with pytest.raises(ServerConnectionError, match="not found"):
            await gateway.connect("gone")
        assert not gateway.is_connected("gone")


@pytest.mark.parametrize("method", ["connect", "disconnect", "invalidate"])
async def test_a_server_that_nobody_configured_is_an_error_with_the_nearest_name(method: str) -> None:
    async with opened(FakeServer("files", [READ])) as gateway:
        with pytest.raises(ServerNotFound) as raised:
            await getattr(gateway, method)("flies")
        assert raised.value.details["nearest"] == ["files"]
        assert not gateway.is_connected("flies")


async def test_the_built_in_server_is_always_connected() -> None:
    async with opened() as gateway:
        await gateway.connect("toolcrib")
        await gateway.disconnect("toolcrib")
        assert gateway.is_connected("toolcrib")


# -- invalidate


@pytest.mark.parametrize("named", [True, False])
async def test_what_was_invalidated_is_read_again_before_it_is_looked_at(named: bool) -> None:
    files, web = FakeServer("files", [READ]), FakeServer("web", [tool("fetch")])
    async with opened(files, web, on_change="warn") as gateway:
        assert await gateway.ready(30)
        files.definitions.append(DELETE)
        assert len(await gateway.list_tools("files")) == 1
        before = web.count("tools/list")
        await gateway.invalidate("files" if named else None)
        assert [one.name for one in await gateway.list_tools("files")] == ["read_file", "delete_file"]
        assert await gateway.ready(30)
        assert (await gateway.search_tools("delete a file")).hits[0].tool == "delete_file"
        assert web.count("tools/list") == before + (not named)


async def test_what_was_invalidated_stays_known_where_its_server_is_gone_by_now() -> None:
    files = FakeServer("files", [READ])
    servers = FakeServers(files)
    settings = Settings(servers=(spec("files"),), max_retries=0)
    async with asyncio.timeout(40), open_gateway(settings=settings, opener=servers) as gateway:
        assert await gateway.ready(30)
        await gateway.disconnect("files")
        del servers._servers["files"]
        await gateway.invalidate()
        assert [one.name for one in await gateway.list_tools("files")] == ["read_file"]


# -- configuration


def test_a_configuration_is_validated_without_being_used(tmp_path: Path) -> None:
    file = tmp_path / "toolcrib.yaml"
    file.write_text("discovery: {servers: {files: {command: x}}, cahce: {ttl: 3}}", "utf-8")
    fine = validate_config(file)
    assert (fine.is_valid, fine.file, fine.problems) == (True, file, ())
    assert any("cahce" in warning for warning in fine.warnings)

    file.write_text(
        "discovery: {callTimeout: soon, servers: {odd: {command: 7}}, toolRules: [{pattern: ['/(/']}]}", "utf-8"
    )
    broken = validate_config(str(file))
    assert not broken.is_valid
    assert {problem.where for problem in broken.problems} >= {"discovery.callTimeout", "discovery.servers.odd.command"}


ALL_HELP = """
import pydoc, toolcrib
for name in set(toolcrib.__all__) - {"__version__"}:
    print(pydoc.plain(pydoc.render_doc(getattr(toolcrib, name))))
print(pydoc.plain(pydoc.render_doc(toolcrib)))
"""


def test_the_environment_stands_in_no_signature_and_no_help() -> None:
    env = {**os.environ, "A_TOKEN_OF_MINE": "n0t-to-be-sh0wn"}
    shown = subprocess.run(
        [sys.executable, "-c", ALL_HELP], env=env, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert "open_gateway(" in shown
    assert "environ" not in shown
    assert "n0t-to-be-sh0wn" not in shown


# -- names


async def test_what_the_methods_give_can_be_imported_by_name() -> None:
    files = FakeServer("files", [READ])
    async with opened(files) as gateway:
        assert await gateway.ready(30)
        answer = await gateway.search_tools("read a file")
        details = await gateway.get_tool_details("files", "read_file")
        (server,) = await gateway.list_servers()
        (listed,) = await gateway.list_tools("files")
        outcome = await gateway.execute_tool("files", "read_file")
        failed = await gateway.execute_tool("files", "raed_file")
    given = (gateway, answer, answer.hits[0], details, server, server.status, listed, outcome, outcome.result)
    for value in (*given, failed.error):
        assert getattr(toolcrib, type(value).__name__) is type(value)
    assert toolcrib.DiscoveryEngine is toolcrib.Gateway
    assert set(dir(toolcrib)) == set(toolcrib.__all__)


# -- one server through the discovery service


async def test_a_provider_gives_what_one_server_offers_as_tools_and_as_capabilities() -> None:
    files = FakeServer("files", [READ])
    async with open_discovery(settings=Settings(), opener=FakeServers(files)) as service:
        provider = toolcrib.MCPDiscoveryProvider(service, spec("files"))
        assert [one.tool_name for one in await provider.discover_tools()] == ["read_file"]
        (capability,) = await provider.discover_capabilities()
    assert capability.id == "mcp.files.read_file"
