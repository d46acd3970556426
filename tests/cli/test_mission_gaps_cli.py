"""Requirements of the seed documents on the command line that no other test shows; see docs/mission.md."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from mcp import Client

from tests.cli.machine import Machine
from tests.fakes import tool
from tests.journeys.http_upstream import everything_over_http
from tests.servers.launch import Launch
from toolcrib import open_gateway
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server


def test_a_search_shows_ten_tools_unless_told_otherwise(machine: Machine) -> None:
    machine.configure("servers: {shop: {command: never-started}}")
    machine.fill({"shop": [tool(f"pack_box_{number}", "Pack a box.") for number in range(15)]})

    assert len(machine.run("search", "pack box", "--json").json["results"]) == 10
    assert len(machine.run("search", "pack box", "--limit", "12", "--json").json["results"]) == 12


async def ask_the_other_faces(query: str) -> tuple[list[str], list[str]]:
    """What the library finds, and what an agent is told."""
    async with open_gateway(read_due=False) as gateway:
        hits = (await gateway.search_tools(query, limit=10)).hits
        async with Client(build_server(MetaTools(gateway), version="1", instructions="")) as client:
            told = await client.call_tool("search_tools", {"query": query, "limit": 10})
    results = json.loads(told.content[0].text)["results"]
    return [f"{hit.server}:{hit.tool}" for hit in hits], [f"{hit['server']}:{hit['tool']}" for hit in results]


def test_library_command_line_and_meta_tools_find_the_same(seeded: Machine) -> None:
    by_library, by_meta_tool = asyncio.run(ask_the_other_faces("github issue"))
    shown = seeded.run("search", "github issue", "--json").json["results"]

    assert by_library == by_meta_tool == [f"{hit['server']}:{hit['tool']}" for hit in shown]
    assert by_library[0] == "github:create_issue"


@pytest.fixture
def remote(everything_server: Launch, machine: Machine) -> Iterator[Machine]:
    """A machine whose two servers are reached over Streamable HTTP and over SSE."""
    with ExitStack() as stack:
        streamable = stack.enter_context(everything_over_http(everything_server, "streamableHttp"))
        sse = stack.enter_context(everything_over_http(everything_server, "sse"))
        machine.configure(json.dumps({"servers": {"streamable": streamable.streamable, "sse": sse.sse}}))
        yield machine


def test_http_and_sse_servers_are_listed_searched_inspected_and_run(remote: Machine) -> None:
    listed = remote.run("list", "--json").json["servers"]
    assert {server["name"]: server["toolCount"] > 0 for server in listed} == {"streamable": True, "sse": True}
    for server in ("streamable", "sse"):
        found = remote.run("search", "sum of two numbers", "--server", server, "--json").json["results"]
        assert (found[0]["server"], found[0]["tool"]) == (server, "get-sum")
        assert remote.run("inspect", server, "get-sum", "--json").json["tool"] == "get-sum"
        ran = remote.run("execute", server, "get-sum", "--args", '{"a": 2, "b": 3}', "--json")
        assert ran.json == {"success": True, "result": "The sum of 2 and 3 is 5."}
