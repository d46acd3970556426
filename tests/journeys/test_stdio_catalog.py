"""What is remembered between starts, shared between gateways, and kept fresh."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack

import pytest
from mcp import Client

from tests.journeys.stdio_gateway import ERAS, MODES, Scripted, Workshop, ask, eventually, run
from toolcrib.config.load import load_settings
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog

both_modes = pytest.mark.parametrize("mode", MODES)


# -- the era


async def call_both(workshop: Workshop, servers: Mapping[str, Scripted]) -> list[list[str]]:
    """Run a tool of each server through a new gateway; the methods that each server was asked meanwhile."""
    before = [len(server.methods) for server in servers.values()]
    async with workshop.client() as client:
        for name in servers:
            assert await run(client, name, "echo", text="x") == "x"
    return [server.methods[count:] for server, count in zip(servers.values(), before, strict=True)]


async def test_the_handshake_is_remembered_and_a_modern_server_is_asked_before_its_first_call(workshop: Workshop):
    servers = workshop.both_eras()
    workshop.configure(servers)

    legacy, modern = await call_both(workshop, servers)
    assert legacy[:4] == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert modern[0] == "server/discover"
    legacy, modern = await call_both(workshop, servers)
    # It may have come back as something else: what it lists is compared before the first call.
    assert legacy == ["initialize", "notifications/initialized", "tools/list", "logging/setLevel", "tools/call"]
    assert (modern[0], sorted(modern[1:])) == ("server/discover", ["subscriptions/listen", "tools/call", "tools/list"])


async def test_a_server_that_changed_its_era_is_asked_anew(workshop: Workshop):
    servers = {name: workshop.scripted(name, "file") for name in ("newer", "older")}
    workshop.configure(servers)

    servers["newer"].speak("legacy")
    servers["older"].speak("modern")
    await call_both(workshop, servers)
    servers["newer"].speak("modern")
    servers["older"].speak("legacy")
    newer, older = await call_both(workshop, servers)

    assert "server/discover" in newer
    assert "initialize" in older


# -- the cold catalog


def seed(workshop: Workshop, servers: int) -> None:
    """Write readings of all configured servers to the catalog, as an earlier gateway would have."""
    catalog = SqliteCatalog(workshop.home / "catalogue.db")
    identity = Identity("legacy", "2025-11-25", {"name": "seeded", "version": "1"}, {"tools": {}})
    specs = load_settings(workshop.config).servers
    assert len(specs) == servers
    for spec in specs:
        tools = [
            {"name": f"{verb}_{spec.name}", "description": f"{verb.title()} a {spec.name}.", "inputSchema": {}}
            for verb in ("weld", "paint", "polish")
        ]
        catalog.save_reading(spec.name, spec.launch_key, ServerReading(identity, tuple(tools)), time.time())
    catalog.close()


@both_modes
async def test_a_hundred_known_servers_are_searched_with_no_server_running(workshop: Workshop, mode: str):
    servers = {f"part-{number}": workshop.scripted(f"part-{number}") for number in range(100)}
    workshop.configure(servers)
    seed(workshop, 100)

    async with workshop.client(mode) as client:
        found = await ask(client, "search_tools", query="polish part 42")
        assert workshop.processes() == {workshop.gateway()}  # no server, and no watchdog either
        assert found["results"][0]["server"] == "part-42"
        assert "note" not in found
        listed = await ask(client, "list_mcp_servers")
        assert {server["toolCount"] for server in listed["servers"]} == {3}
        assert len(listed["servers"]) + len(listed["more"]) == 100

    assert not any(server.starts for server in servers.values())


async def test_a_server_that_is_launched_differently_is_read_again(workshop: Workshop):
    scripted, other = workshop.scripted("scripted"), workshop.scripted("other")
    workshop.configure({"scripted": scripted, "other": other})
    seed(workshop, 2)
    workshop.configure({"scripted": workshop.scripted("moved"), "other": other})
    moved = workshop.scripted("moved")

    async with workshop.client() as client:
        await found_tool(client, "scripted", "echo")
        assert await run(client, "scripted", "echo", text="new") == "new"

    assert (scripted.starts, other.starts, len(moved.starts)) == ([], [], 1)


# -- several gateways


async def tool_counts(client: Client) -> set[int]:
    servers = (await ask(client, "list_mcp_servers"))["servers"]
    return {server["toolCount"] for server in servers}


async def test_three_gateways_at_once_read_each_server_once_and_all_know_its_tools(workshop: Workshop):
    servers = {f"server-{number}": workshop.scripted(f"server-{number}") for number in range(8)}
    workshop.configure(servers)

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(workshop.client("2026-07-28")) for _ in range(3)]
        for client in clients:
            await found_everywhere(client)

    assert {name: len(server.received("tools/list")) for name, server in servers.items()} == dict.fromkeys(servers, 1)
    assert {name: len(server.starts) for name, server in servers.items()} == dict.fromkeys(servers, 1)


async def found_everywhere(client: Client) -> None:
    """Ask until the tools of every server are known."""
    deadline = time.monotonic() + 20
    while 0 in await tool_counts(client):
        assert time.monotonic() < deadline
    found = (await ask(client, "search_tools", query="echo", limit=50))["results"]
    assert {hit["server"] for hit in found if hit["tool"] == "echo"} == {f"server-{number}" for number in range(8)}


# -- changes


async def test_a_server_that_learns_a_tool_is_read_again_once_however_often_it_says_so(workshop: Workshop):
    servers = {**workshop.both_eras(), "other": workshop.scripted("other")}
    workshop.configure(servers, trust={"onChange": "warn"})

    async with workshop.client() as client:
        for name in servers:
            await run(client, name, "echo", text="x")
        await eventually(lambda: servers["modern"].received("subscriptions/listen"))
        for era in ERAS:
            await run(client, era, "grow", times=50)
        for era in ERAS:
            await found_tool(client, era, "grown")
            assert await run(client, era, "grown") == "from the grown tool"

    readings = {name: len(server.received("tools/list")) for name, server in servers.items()}
    assert readings == {"legacy": 2, "modern": 2, "other": 1}
    assert {len(server.starts) for server in servers.values()} == {1}


async def found_tool(client: Client, server: str, tool: str) -> None:
    """Ask until a new tool is found."""
    deadline = time.monotonic() + 10
    while True:
        found = (await ask(client, "search_tools", query=tool, server=server))["results"]
        if found and found[0]["tool"] == tool:
            return
        assert time.monotonic() < deadline
