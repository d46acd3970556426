"""Moving in with one command, working through each client's own entry, and moving out again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from toolcrib.adoption.site import Site
from toolcrib.clients.table import CLIENTS
from toolcrib.config.documents import parse_document

BOUND_SECONDS = 45.0
PYTHON = json.dumps(sys.executable)


@dataclass(frozen=True)
class Case:
    """A client's file, where its servers stand, and one tool behind them with what it answers."""

    client: str
    container: str
    content: str
    server: str
    query: str
    tool: str
    arguments: Mapping[str, Any]
    result: Any


CASES = (
    Case(
        "claude-desktop",
        "mcpServers",
        f"""{{
  "mcpServers": {{
    "clock": {{"command": {PYTHON}, "args": ["-m", "toolcrib.demo.clock"]}}
  }},
  "globalShortcut": "Ctrl+Space"
}}
""",
        "clock",
        "days from one date to another",
        "days_between",
        {"start": "2026-01-01", "end": "2026-01-31"},
        30,
    ),
    Case(
        "cursor",
        "mcpServers",
        f"""// what Cursor knows
{{
  "mcpServers": {{
    "counting": {{ // words and lines
      "command": {PYTHON},
      "args": ["-m", "toolcrib.demo.words"],
      "env": {{"LANG": "C.UTF-8"}}
    }}, /* and no more */
  }},
}}
""",
        "counting",
        "count the words of a text",
        "count_words",
        {"text": "one two three"},
        3,
    ),
    Case(
        "vscode",
        "servers",
        f"""{{\r
\t// asked for by VS Code itself\r
\t"inputs": [{{"type": "promptString", "id": "pin", "description": "PIN"}}],\r
\t"servers": {{\r
\t\t"bank": {{"type": "stdio", "command": "bank-mcp", "env": {{"PIN": "${{input:pin}}"}}}},\r
\t\t"dates": {{"type": "stdio", "command": {PYTHON}, "args": ["-m", "toolcrib.demo.clock"], "env": {{"TZ": "UTC"}}}}\r
\t}}\r
}}""",
        "dates",
        "how many days lie between two dates",
        "days_between",
        {"start": "2026-02-01", "end": "2026-03-01"},
        28,
    ),
    Case(
        "codex",
        "mcp_servers",
        f"""# codex
model = "some-model" # the usual one

# sorts
[mcp_servers.sorting]
command = {PYTHON}
args = [
  "-m", # as a module
  "toolcrib.demo.words",
]

[mcp_servers.sorting.env]
LC_ALL = "C.UTF-8"

# everything else
[tui]
notifications = true
""",
        "sorting",
        "sort the lines of a text",
        "sort_lines",
        {"text": "b\na"},
        "a\nb",
    ),
)


def _place(case: Case) -> Path:
    return CLIENTS[case.client].file(Site.of(os.environ).machine)


async def _toolcrib(*words: str) -> str:
    """Run the command as a person does, in a process of its own; its standard output."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolcrib", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), BOUND_SECONDS)
    assert process.returncode == 0, err.decode()
    return out.decode()


async def _ask(client: Client, meta_tool: str, /, **arguments: Any) -> Any:
    answer = await client.call_tool(meta_tool, arguments)
    (block,) = answer.content
    return json.loads(block.text) if block.text.startswith(("{", "[")) else block.text


@pytest.mark.timeout(180)
async def test_four_clients_move_in_work_through_their_own_entries_and_move_out_unharmed(process_environment):
    for case in CASES:
        _place(case).parent.mkdir(parents=True, exist_ok=True)
        _place(case).write_bytes(case.content.encode())
    said = await _toolcrib("adopt", "--yes")
    assert "stays  bank" in said
    for case in CASES:
        await _works_through_its_entry(case, process_environment)
    await _toolcrib("release", "--yes")
    for case in CASES:
        assert _place(case).read_bytes() == case.content.encode()
    assert not Site.of(os.environ).own_path.exists()


async def _works_through_its_entry(case: Case, environment: Mapping[str, str]) -> None:
    """Start the gateway exactly as the client would from its file, and use what moved out of that client."""
    entries = parse_document(_place(case).read_bytes(), _place(case))[case.container]
    assert case.server not in entries
    entry = entries["toolcrib"]
    started = {**environment, **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}}
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env={**started, **entry["env"]})
    async with Client(stdio_client(parameters), read_timeout_seconds=BOUND_SECONDS) as client:
        found = await _found(client, case)
        assert case.tool in [hit["tool"] for hit in found if hit["server"] == case.server]
        answer = await _ask(client, "execute_tool", server=case.server, tool=case.tool, arguments=dict(case.arguments))
    assert str(answer) == str(case.result)


async def _found(client: Client, case: Case) -> list[dict[str, Any]]:
    """The hits of a search, asked again while servers are still being read for the first time."""
    async with asyncio.timeout(BOUND_SECONDS):
        while True:
            hits: list[dict[str, Any]] = (await _ask(client, "search_tools", query=case.query, limit=20))["results"]
            if any((hit["server"], hit["tool"]) == (case.server, case.tool) for hit in hits):
                return hits
            await asyncio.sleep(0.05)
