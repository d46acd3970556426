"""A turn of a real agent: it finds a tool through Toolcrib, reads it and runs it. The model is a stand-in on this machine."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from clients.model_apis import AnthropicModel, OpenAIModel, ScriptedModel, Step, served
from clients.sandbox import CLOCK, Sandbox

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

STEPS = (
    Step("search_tools", {"query": "what time is it in a city"}),
    Step("get_tool_details", {"server": "clock", "tool": "current_time"}),
    Step("execute_tool", {"server": "clock", "tool": "current_time", "arguments": {"timezone": "Asia/Tokyo"}}),
)
QUESTION = "What time is it in Tokyo?"


def assert_the_turn_was_taken(model: ScriptedModel) -> None:
    found, details, outcome = model.answers
    assert json.loads(found[found.index("{") :])["results"][0]["tool"] == "current_time"
    assert "timezone" in details
    assert "+09:00" in outcome


async def test_claude_code_searches_reads_and_runs_a_tool(sandbox: Sandbox) -> None:
    sandbox.run("claude", "mcp", "add", "-s", "user", "clock", "--", *CLOCK)
    sandbox.toolcrib("adopt", "claude-code", "--yes")
    model = AnthropicModel(STEPS)

    async with served(model) as address:
        environment = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none"}
        command = ("claude", "-p", QUESTION, "--output-format", "json", "--allowedTools", "mcp__toolcrib")
        said = await asyncio.to_thread(sandbox.run, *command, **environment)

    assert json.loads(said)["is_error"] is False
    assert_the_turn_was_taken(model)
    # With the key that `adopt` writes, the five are there from the first request on; without it Claude Code shows names only.
    assert _names(model.asked[0]) >= {f"mcp__toolcrib__{step.tool}" for step in STEPS}


def _names(request: dict[str, Any]) -> set[str]:
    return {str(tool.get("name")) for tool in request["tools"]}


async def test_codex_searches_reads_and_runs_a_tool(sandbox: Sandbox) -> None:
    sandbox.run("codex", "mcp", "add", "clock", "--", *CLOCK)
    sandbox.toolcrib("adopt", "codex", "--yes")
    model = OpenAIModel(STEPS)

    async with served(model) as address:
        provider = f'model_providers.local={{name="local", base_url="{address}/v1", wire_api="responses"}}'
        options = ("-c", provider, "-c", "model_provider=local", "-c", "model=stand-in")
        command = (
            "codex",
            "exec",
            *options,
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            QUESTION,
        )
        await asyncio.to_thread(sandbox.run, *command)

    assert_the_turn_was_taken(model)
