"""Tasks between a client and a server of the newest revision that both know them: the client waits itself."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from tests.journeys.asking import Person, asking_server
from tests.journeys.http_gateway import BOUND_SECONDS, gateway_process, write_config
from tests.journeys.stdio_gateway import MODES, Workshop, execute
from tests.journeys.test_asking_back import client_of

PREFIX = "io.modelcontextprotocol/"
TASKS = f"{PREFIX}tasks"
VERSION = "2026-07-28"
CAN = {"extensions": {TASKS: {}}, "elicitation": {}}

Ask = Callable[..., Awaitable[dict[str, Any]]]
"""(method, name of the client, what it can do, parameters) → the message of the gateway"""


def meta(name: str, capabilities: dict[str, Any]) -> dict[str, Any]:
    info = {"name": name, "version": "1"}
    return {
        f"{PREFIX}protocolVersion": VERSION,
        f"{PREFIX}clientCapabilities": capabilities,
        f"{PREFIX}clientInfo": info,
    }


@asynccontextmanager
async def face(kind: str, workshop: Workshop) -> AsyncIterator[Ask]:
    servers, ids = {"asking": asking_server("modern")}, itertools.count(1)
    if kind == "stdio":
        workshop.configure(servers)
        async with workshop.lines() as client:

            async def said(method: str, who: str = "one", can: Any = CAN, **params: Any) -> dict[str, Any]:
                return await client.ask(next(ids), method, **params, _meta=meta(who, can))

            yield said
        return
    config = write_config(workshop.folder, servers)
    with gateway_process(workshop.folder, config, workshop.environment) as gateway:
        async with httpx2.AsyncClient(timeout=BOUND_SECONDS) as http:

            async def posted(method: str, who: str = "one", can: Any = CAN, **params: Any) -> dict[str, Any]:
                message = {"jsonrpc": "2.0", "id": next(ids), "method": method}
                headers = {
                    "authorization": f"Bearer {gateway.token}",
                    "accept": "application/json, text/event-stream",
                    "mcp-protocol-version": VERSION,
                    "mcp-method": method,
                    "mcp-name": params.get("name") or params.get("taskId") or "",
                }
                whole = {**message, "params": {**params, "_meta": meta(who, can)}}
                return (await http.post(gateway.url, json=whole, headers=headers)).json()

            yield posted


WORK = {"name": "execute_tool", "arguments": {"server": "asking", "tool": "work", "arguments": {}}}


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_a_client_that_knows_tasks_waits_itself_and_its_id_is_good_for_nobody_else(
    workshop: Workshop, kind: str
) -> None:
    async with face(kind, workshop) as ask:
        known = (await ask("server/discover"))["result"]["capabilities"]
        begun = (await ask("tools/call", **WORK))["result"]
        task = begun["taskId"]
        asks = (await ask("tasks/get", taskId=task))["result"]
        stranger = await ask("tasks/get", who="another", taskId=task)
        unable = await ask("tasks/get", can={}, taskId=task)
        responses = {"who": {"action": "accept", "content": {"name": "Ann"}}}
        updated = await ask("tasks/update", taskId=task, inputResponses=responses)
        done = (await ask("tasks/get", taskId=task))["result"]
        cancelled = await ask("tasks/cancel", taskId=task)

    assert known["extensions"] == {TASKS: {}}
    assert (begun["resultType"], begun["status"], begun["ttlMs"]) == ("task", "working", 60_000)
    assert task.startswith("tc1.")
    assert (asks["status"], asks["taskId"]) == ("input_required", task)
    assert asks["inputRequests"]["who"]["params"]["message"] == "asking asks: What is your name?"
    assert stranger["error"]["code"] == -32602
    assert unable["error"]["code"] == -32021
    assert updated["result"]["resultType"] == "complete"
    assert done["status"] == "completed"
    assert json.loads(done["result"]["content"][0]["text"]) == {"success": True, "result": {"name": "Ann"}}
    assert cancelled["result"]["resultType"] == "complete"


@pytest.mark.parametrize("mode", MODES)
async def test_for_a_client_that_knows_no_tasks_the_same_tool_is_awaited(workshop: Workshop, mode: str) -> None:
    person = Person()
    async with client_of("stdio", mode, workshop, {"asking": asking_server("modern")}, person) as client:
        done = await execute(client, "asking", "work")

    assert "Ann" in str(done.content)
    assert person.messages == ["asking asks: What is your name?"]
