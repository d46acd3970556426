"""The five tools as an agent with the SDK's client meets them: what they ask for, what they answer, and what that costs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client

from tests.fakes import FakeServer, text
from tests.gateways import read_counter
from tests.server.agent_tokens import Agent, compact, count
from tests.server.everyday_tools import RESULTS, SERVERS
from toolcrib import Gateway
from toolcrib.server.instructions import gateway_instructions
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server


@asynccontextmanager
async def client_of(gateway: Gateway) -> AsyncIterator[Client]:
    said = gateway_instructions(gateway)
    async with Client(build_server(MetaTools(gateway), instructions=said)) as client:
        yield client


async def test_the_five_tools_ask_for_the_parameters_that_were_promised() -> None:
    async with read_counter() as gateway, client_of(gateway) as client:
        listed = (await client.list_tools()).tools

    asked = {one.name: (sorted(one.input_schema["properties"]), one.input_schema.get("required", [])) for one in listed}
    assert asked == {
        "list_mcp_servers": ([], []),
        "search_tools": (["limit", "query", "server"], ["query"]),
        "list_tools": (["includeDisabled", "server"], ["server"]),
        "get_tool_details": (["server", "tool"], ["server", "tool"]),
        "execute_tool": (["arguments", "server", "tool"], ["server", "tool", "arguments"]),
    }


@pytest.mark.parametrize(
    ("meta_tool", "arguments", "most"),
    [
        ("list_mcp_servers", {}, 200),
        ("search_tools", {"query": "create a github issue"}, 250),
        ("list_tools", {"server": "github"}, 300),
        ("get_tool_details", {"server": "github", "tool": "create_issue"}, 200),
        ("execute_tool", {"server": "github", "tool": "create_issue", "arguments": {"repo": "a/b", "title": "x"}}, 300),
    ],
)
async def test_an_answer_takes_no_more_tokens_than_was_promised(
    meta_tool: str, arguments: dict[str, Any], most: int
) -> None:
    servers = [FakeServer(name, tools) for name, tools in SERVERS.items()]
    servers[0].tools["create_issue"] = lambda _: text(RESULTS["create_issue"])

    async with read_counter(*servers) as gateway, client_of(gateway) as client:
        answer = await Agent(client, []).use(meta_tool, **arguments)

    assert count(compact({"name": meta_tool, "arguments": arguments})) + count(answer) <= most


async def test_an_execution_is_success_and_result_or_no_success_and_an_error_and_costs_hardly_more_than_they_do() -> (
    None
):
    said = RESULTS["create_issue"]
    github = FakeServer("github", SERVERS["github"], tools={"create_issue": lambda _: text(said)})
    issue = {"server": "github", "tool": "create_issue", "arguments": {"repo": "a/b", "title": "x"}}

    async with read_counter(github) as gateway, client_of(gateway) as client:
        agent = Agent(client, [])
        answer = await agent.use("execute_tool", **issue)
        failed = await client.call_tool("execute_tool", {**issue, "arguments": {"title": "x"}})

    assert json.loads(answer) == {"success": True, "result": json.loads(said)}
    assert count(answer) <= count(said) + 10
    assert 30 <= agent.spent <= 300
    body = json.loads(failed.content[0].text)
    assert failed.is_error
    assert (body["success"], set(body)) == (False, {"success", "error"})
    assert {key: body["error"][key] for key in ("code", "server", "tool")} == {
        "code": "TOOL_VALIDATION_ERROR",
        "server": "github",
        "tool": "create_issue",
    }
    assert "repo" in body["error"]["message"]
    assert count(failed.content[0].text) <= 100
