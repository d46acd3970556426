"""The whole journey with third-party servers of both eras behind the counter, for clients of both eras."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.journeys.stdio_gateway import MODES, Workshop, ask, body, execute, failure, run, text
from tests.servers.launch import Launch

pytestmark = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A git repository with one file."""
    place = tmp_path / "work"
    subprocess.run(["git", "init", "--quiet", str(place)], check=True, timeout=10)
    (place / "note.txt").write_text("buy nails\n")
    return place


@pytest.fixture
def five_servers(
    everything_server: Launch,
    filesystem_server: Callable[[Path], Launch],
    memory_server: Callable[[Path], Launch],
    time_server: Launch,
    git_server: Callable[[Path], Launch],
    folder: Path,
    tmp_path: Path,
) -> dict[str, Launch]:
    return {
        "everything": everything_server,
        "filesystem": filesystem_server(folder),
        "memory": memory_server(tmp_path / "graph.jsonl"),
        "time": time_server,
        "git": git_server(folder),
    }


async def test_every_server_is_listed_searched_described_and_run(
    workshop: Workshop, five_servers: dict[str, Launch], folder: Path, mode: str
):
    workshop.configure(five_servers)

    async with workshop.client(mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == META_TOOLS

        entity = {"name": "hammer", "entityType": "tool", "observations": ["heavy"]}
        made = await execute(client, "memory", "create_entities", entities=[entity])
        assert body(made) == {"success": True, "result": [entity]}
        assert made.structured_content == {"entities": [entity]}
        assert await run(client, "everything", "echo", message="hello") == "Echo: hello"
        read = await execute(client, "filesystem", "read_text_file", path=str(folder / "note.txt"))
        assert text(read) == "buy nails\n"
        assert read.structured_content == {"content": "buy nails\n"}
        told = body(await execute(client, "time", "get_current_time", timezone="Asia/Tokyo"))
        assert told["result"]["timezone"] == "Asia/Tokyo"
        assert "note.txt" in await run(client, "git", "git_status", repo_path=str(folder))

        servers = (await ask(client, "list_mcp_servers"))["servers"]
        assert {server["name"]: (server["toolCount"], server["status"]) for server in servers} == {
            "everything": (17, "connected"),
            "filesystem": (14, "connected"),
            "memory": (9, "connected"),
            "time": (2, "connected"),
            "git": (12, "connected"),
        }
        await assert_findable(client)


META_TOOLS = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"]


async def assert_findable(client):
    found = (await ask(client, "search_tools", query="current time in a time zone"))["results"]
    assert (found[0]["server"], found[0]["tool"]) == ("time", "get_current_time")
    only = (await ask(client, "search_tools", query="commit history", server="git", limit=3))["results"]
    assert {hit["server"] for hit in only} == {"git"}
    assert len(only) <= 3
    tools = (await ask(client, "list_tools", server="time"))["tools"]
    assert [tool["name"] for tool in tools] == ["get_current_time", "convert_time"]
    details = await ask(client, "get_tool_details", server="time", tool="get_current_time")
    assert [(p["name"], p["type"], p["required"]) for p in details["parameters"]] == [("timezone", "string", True)]


async def test_a_wrong_name_is_answered_with_the_names_that_may_have_been_meant(
    workshop: Workshop, time_server: Launch, mode: str
):
    workshop.configure({"time": time_server})

    async with workshop.client(mode) as client:
        no_server = failure(await execute(client, "tyme", "get_current_time"))
        assert (no_server["code"], no_server["nearest"]) == ("SERVER_NOT_FOUND", ["time"])
        no_tool = failure(await execute(client, "time", "get_curent_time"))
        assert (no_tool["code"], no_tool["nearest"][0]) == ("TOOL_NOT_FOUND", "get_current_time")
        assert no_tool["available"] == ["convert_time", "get_current_time"]
        for meta_tool, names in {
            "search_tools": {"query": "time", "server": "tyme"},
            "list_tools": {"server": "tyme"},
            "get_tool_details": {"server": "tyme", "tool": "x"},
        }.items():
            assert failure(await client.call_tool(meta_tool, names))["nearest"] == ["time"]
        details = await client.call_tool("get_tool_details", {"server": "time", "tool": "convert"})
        assert failure(details)["nearest"] == ["convert_time"]


async def test_wrong_arguments_are_refused_with_the_field_and_why(
    workshop: Workshop, everything_server: Launch, mode: str
):
    workshop.configure({"everything": everything_server})

    async with workshop.client(mode) as client:
        missing = failure(await execute(client, "everything", "get-sum", a=1))
        assert missing["code"] == "TOOL_VALIDATION_ERROR"
        assert "b" in missing["message"]
        wrong = failure(await execute(client, "everything", "get-sum", a=1, b="two"))
        assert wrong["code"] == "TOOL_VALIDATION_ERROR"
        assert "b: " in wrong["message"]
        assert "number" in wrong["message"]
        assert "The sum of 1 and 2 is 3." in await run(client, "everything", "get-sum", a=1, b=2)


async def test_a_disabled_tool_is_nowhere_and_never_runs(
    workshop: Workshop, filesystem_server: Callable[[Path], Launch], folder: Path, mode: str
):
    workshop.configure({"filesystem": filesystem_server(folder)}, toolRules=[{"pattern": "write_*", "enabled": False}])
    target = folder / "new.txt"

    async with workshop.client(mode) as client:
        refused = failure(await execute(client, "filesystem", "write_file", path=str(target), content="x"))
        assert refused["code"] == "TOOL_DISABLED"
        assert not target.exists()
        shown = (await ask(client, "list_tools", server="filesystem"))["tools"]
        assert "write_file" not in {tool["name"] for tool in shown}
        everything = (await ask(client, "list_tools", server="filesystem", includeDisabled=True))["tools"]
        assert {tool["name"]: tool["enabled"] for tool in everything}["write_file"] is False
        found = (await ask(client, "search_tools", query="write_file", limit=50))["results"]
        assert "write_file" not in {hit["tool"] for hit in found}
        (server,) = (await ask(client, "list_mcp_servers"))["servers"]
        assert server["toolCount"] - server["enabledCount"] == 1


async def test_an_image_passes_unchanged(workshop: Workshop, everything_server: Launch, mode: str):
    workshop.configure({"everything": everything_server}, maxResultBytes=1024)
    direct = await ask_directly(everything_server, "get-tiny-image")

    async with workshop.client(mode) as client:
        relayed = await execute(client, "everything", "get-tiny-image")

    assert [block.type for block in relayed.content] == ["text", "image", "text"]
    assert [block.model_dump() for block in relayed.content] == direct


async def ask_directly(server: Launch, tool: str) -> list[dict[str, object]]:
    """The blocks of a tool's answer, with no gateway between."""
    parameters = StdioServerParameters(command=server.command, args=list(server.args), env=server.env)
    async with Client(parameters, mode="legacy") as client:
        result = await client.call_tool(tool, {})
        return [block.model_dump() for block in result.content]
