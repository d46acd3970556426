"""Servers behind the counter that are reached over Streamable HTTP and over SSE."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.journeys.http_gateway import BOUND_SECONDS, MODES, write_config
from tests.journeys.http_upstream import Clinic, everything_over_http
from tests.journeys.stdio_gateway import ask, run
from tests.servers.launch import Launch
from toolcrib import Gateway, open_gateway
from toolcrib.model.call import ExecutionResult, Progress

OPERATION = ("trigger-long-running-operation", {"duration": 0.3, "steps": 3})


@pytest.fixture
def entries(everything_server: Launch) -> Iterator[dict[str, Any]]:
    """server-everything on each of its two HTTP transports, as configuration entries."""
    with ExitStack() as stack:
        streamable = stack.enter_context(everything_over_http(everything_server, "streamableHttp"))
        sse = stack.enter_context(everything_over_http(everything_server, "sse"))
        yield {"streamable": streamable.streamable, "sse": sse.sse}


async def progress_of(gateway: Gateway, server: str, tool: str, arguments: dict[str, Any]) -> list[Any]:
    """The progress of a call, and then whether it succeeded."""
    heard: list[Any] = []
    async for event in gateway.execute_stream(server, tool, arguments):
        if isinstance(event, Progress):
            heard.append(event.params["progress"])
        elif isinstance(event, ExecutionResult):
            heard.append(event.success)
    return heard


async def test_a_real_server_is_read_searched_and_called_over_both_transports(
    tmp_path: Path, entries: dict[str, Any]
) -> None:
    async with open_gateway(write_config(tmp_path, entries)) as gateway:
        for name, transport in (("streamable", "http"), ("sse", "sse")):
            listed = {tool.name for tool in await gateway.list_tools(name)}
            assert {"echo", "get-sum", "get-tiny-image"} <= listed
            found = await gateway.search_tools("sum of two numbers", server=name)
            assert found.hits[0].tool == "get-sum"
            details = await gateway.get_tool_details(name, "get-sum")
            assert details is not None
            assert [(parameter.name, parameter.required) for parameter in details.parameters] == [
                ("a", True),
                ("b", True),
            ]
            assert (await gateway.execute_tool(name, "get-sum", {"a": 2, "b": 3})).value == "The sum of 2 and 3 is 5."
            assert await progress_of(gateway, name, *OPERATION) == [1, 2, 3, True]
            (summary,) = (server for server in await gateway.list_servers() if server.name == name)
            assert (summary.transport, summary.status.state, summary.tool_count) == (
                transport,
                "connected",
                len(listed),
            )


async def test_a_server_of_the_newest_revision_is_read_searched_and_called(tmp_path: Path) -> None:
    clinic = Clinic()
    async with clinic.serving() as url, open_gateway(write_config(tmp_path, {"clinic": {"url": url}})) as gateway:
        found = await gateway.search_tools("say something again", server="clinic")
        assert found.hits[0].tool == "repeat"
        details = await gateway.get_tool_details("clinic", "repeat")
        assert details is not None
        assert details.parameters[0].name == "text"
        assert (await gateway.execute_tool("clinic", "repeat", {"text": "ahem"})).value == {"text": "ahem"}
        assert await progress_of(gateway, "clinic", "count_patients", {}) == [1, 2, 3, 4, 5, True]
    methods = [headers["mcp-method"] for headers in clinic.headers]
    assert methods[:2] == ["server/discover", "tools/list"]
    assert methods.count("server/discover") == 1
    assert {headers["mcp-protocol-version"] for headers in clinic.headers} == {"2026-07-28"}
    assert {headers.get("mcp-name") for headers in clinic.headers} == {None, "repeat", "count_patients"}


@asynccontextmanager
async def stdio_client_of(config: Path, environment: dict[str, str], mode: str) -> AsyncIterator[Client]:
    arguments = ["-m", "toolcrib", "--config", str(config), "serve"]
    gateway = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(stdio_client(gateway), mode=mode, read_timeout_seconds=BOUND_SECONDS) as client:
        yield client


@pytest.mark.parametrize("mode", MODES)
async def test_a_stdio_client_reaches_http_and_sse_servers_through_the_gateway(
    tmp_path: Path, process_environment: dict[str, str], entries: dict[str, Any], mode: str
) -> None:
    async with stdio_client_of(write_config(tmp_path, entries), process_environment, mode) as client:
        for name in entries:
            await ask(client, "list_tools", server=name)
        # More than the two: a server whose tools are not learnt yet stands further down.
        found = await ask(client, "search_tools", query="sum of two numbers", limit=5)
        assert {(hit["server"], hit["tool"]) for hit in found["results"]} >= {
            ("streamable", "get-sum"),
            ("sse", "get-sum"),
        }
        for name in entries:
            details = await ask(client, "get_tool_details", server=name, tool="echo")
            assert details["parameters"][0]["name"] == "message"
            assert await run(client, name, "echo", message=name) == f"Echo: {name}"
        states = {server["name"]: server["status"] for server in (await ask(client, "list_mcp_servers"))["servers"]}
        assert states == {"streamable": "connected", "sse": "connected"}
