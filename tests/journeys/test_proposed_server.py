"""A server that an agent wants: proposed by the agent, approved by a person, then found and used."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp import Client

from tests.fakes import FakeServer, FakeServers, text, tool
from tests.journeys.stdio_gateway import BOUND_SECONDS, Workshop, ask, execute, failure, run
from toolcrib import open_gateway
from toolcrib.config.paths import Paths

WORDS = f"{sys.executable} -m toolcrib.demo.words"
# A public address that needs no name server; the fake servers are known by name only.
URL = "https://93.184.216.34/mcp"


def approvals(config: Path, env: Mapping[str, str], *words: str) -> str:
    """What a person at a terminal is told."""
    command = [sys.executable, "-m", "toolcrib", "--config", str(config), "approvals", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


async def result(client: Client, server: str, tool: str, **arguments: Any) -> Any:
    return json.loads(await run(client, server, tool, **arguments))["result"]


async def search_until(client: Client, query: str, tool: str) -> dict[str, Any]:
    deadline = time.monotonic() + BOUND_SECONDS
    while True:
        answer = await ask(client, "search_tools", query=query)
        if answer["results"] and answer["results"][0]["tool"] == tool:
            return answer
        assert time.monotonic() < deadline, answer


async def test_a_command_an_agent_proposes_is_used_after_a_person_approved_it(workshop: Workshop) -> None:
    workshop.configure({}, reloadInterval=0.1)

    async with workshop.client() as client:
        proposed = await result(client, "toolcrib", "introspect_server", endpoint=WORDS, name="words")
        assert (proposed["success"], proposed["state"]) == (True, "pending")
        assert (await ask(client, "list_mcp_servers"))["servers"] == []
        refused = failure(await execute(client, "words", "count_words", text="x"))
        assert refused["code"] == "SERVER_NOT_FOUND"

        shown = approvals(workshop.config, workshop.environment, "show", proposed["approval_id"])
        assert "toolcrib.demo.words" in shown
        approvals(workshop.config, workshop.environment, "approve", proposed["approval_id"], "--yes")

        await search_until(client, "count the words of a text", "count_words")
        assert await run(client, "words", "count_words", text="three small words") == "3"


async def test_an_address_an_agent_proposes_is_read_then_approved_then_used(
    tmp_path: Path, process_environment: dict[str, str]
) -> None:
    config = tmp_path / "toolcrib.yaml"
    config.write_text("discovery: {servers: {}, reloadInterval: 3600}\n")
    notes = FakeServer("notes", [tool("list_notes", "Lists all my notes")], tools={"list_notes": lambda _: text("two")})
    servers = Paths.of(os.environ).capabilities_dir / "servers"

    async with open_gateway(config, opener=FakeServers(notes)) as gateway:
        outcome = await gateway.execute_tool("toolcrib", "introspect_server", {"endpoint": URL, "name": "notes"})
        assert outcome.result is not None
        assert json.loads(outcome.result.text)["endpoint_previews"] == [
            {"name": "list_notes", "summary": "Lists all my notes"}
        ]
        assert [file.parent.parent.name for file in servers.rglob("*.rtfs")] == ["pending"]

        await asyncio.to_thread(approvals, config, process_environment, "approve", "notes", "--yes")
        await gateway.reload()
        await gateway.list_tools("notes")

        assert [file.parent.parent.name for file in servers.rglob("*.rtfs")] == ["approved"]
        found = await gateway.search_tools("my notes")
        assert [(hit.server, hit.tool) for hit in found.hits][:1] == [("notes", "list_notes")]
        used = await gateway.execute_tool("notes", "list_notes", {})
        assert used.result is not None
        assert used.result.text == "two"
