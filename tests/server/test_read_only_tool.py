"""execute_read_only: a sixth name for clients that allow tools by their names."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from tests.fakes import FakeServer, tool
from tests.gateways import read_counter
from tests.items import library
from tests.server.agent_tokens import compact, count
from toolcrib.model.caller import Caller, Rights
from toolcrib.model.tool_rule import ToolRule
from toolcrib.server.definitions import META_TOOL_NAMES, META_TOOLS, offered_tools
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server
from toolcrib.server.requests import Request
from toolcrib.wire.jsonrpc import RpcError

MODES = ("legacy", "2026-07-28")


def files() -> FakeServer:
    odd = tool("delete_file", annotations={"readOnlyHint": True})
    return FakeServer(
        "files", [tool("get_file"), tool("write_file"), tool("query", annotations={"readOnlyHint": True}), odd]
    )


def code(answer: types.CallToolResult) -> str:
    text = getattr(answer.content[0], "text", "")
    return str(json.loads(text)["error"]["code"]) if answer.is_error else "OK"


@pytest.mark.parametrize("mode", MODES)
async def test_it_runs_what_only_reads_and_nothing_else(mode: str) -> None:
    server = files()
    async with read_counter(server, library(), read_only_tool=True) as gateway:
        door = build_server(MetaTools(gateway), instructions="")
        async with Client(door, mode=mode) as client:
            listed = {one.name: one for one in (await client.list_tools()).tools}

            async def run(name: str, of_server: str = "files", meta_tool: str = "execute_read_only") -> Any:
                return await client.call_tool(meta_tool, {"server": of_server, "tool": name, "arguments": {}})

            codes = {name: code(await run(name)) for name in ("get_file", "query", "write_file", "delete_file")}
            resource = code(await run("resource:file:///work/README.md", "library"))
            proposed = code(await run("introspect_server", "toolcrib"))
            refused = await run("write_file")
            written = code(await run("write_file", meta_tool="execute_tool"))

    assert tuple(listed) == (*META_TOOL_NAMES, "execute_read_only")
    hints = listed["execute_read_only"].annotations
    assert hints is not None
    assert hints.read_only_hint is True
    assert codes == {"get_file": "OK", "query": "OK", "write_file": "TOOL_DISABLED", "delete_file": "TOOL_DISABLED"}
    assert (resource, proposed, written) == ("OK", "TOOL_DISABLED", "OK")
    assert "use execute_tool" in json.loads(getattr(refused.content[0], "text", ""))["error"]["hint"]
    assert [name for name, _ in server.calls] == ["get_file", "query", "write_file"]


async def test_nobody_is_sent_to_another_name_that_would_not_run_it_either() -> None:
    token = Request(Caller("agent", rights=Rights(read_only=True, label="token ci")))
    rules = (ToolRule(("get_file",), None, False),)
    hints = []
    async with read_counter(files(), read_only_tool=True, tool_rules=rules) as gateway:
        for request, name in (
            (token, "write_file"),
            (Request(Caller()), "get_file"),
            (Request(Caller()), "write_file"),
        ):
            asked = json.dumps({"server": "files", "tool": name, "arguments": {}}).encode()
            answer = await MetaTools(gateway).call("execute_read_only", asked, request)
            error = json.loads(json.loads(bytes(answer["content"]))[0]["text"])["error"]
            assert error["code"] == "TOOL_DISABLED"
            hints.append("use execute_tool" in error["hint"])

    assert hints == [False, False, True]


async def test_it_is_not_there_unless_it_is_wanted() -> None:
    async with read_counter(files()) as gateway:
        door = MetaTools(gateway)
        with pytest.raises(RpcError):
            await door.call("execute_read_only", b'{"server":"files","tool":"get_file"}', Request(Caller()))

    assert offered_tools(read_only_tool=False) == META_TOOLS


def test_the_six_of_them_cost_little() -> None:
    keys = ("name", "description", "inputSchema")
    tokens = sum(count(compact({key: one[key] for key in keys})) for one in offered_tools(read_only_tool=True))

    assert tokens <= 400
