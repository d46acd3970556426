"""Each real client gets servers by its own command, is adopted, lists Toolcrib by its own command, and is released."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from clients.sandbox import CLIENTS, RealClient, Sandbox

each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
pytestmark = pytest.mark.timeout(600)


def entries(content: bytes) -> Any:
    """What a file says, where it is JSON; a client may have written its own things beside meanwhile."""
    return json.loads(content)


@each_client
def test_a_client_is_adopted_lists_toolcrib_and_is_released(client: RealClient, sandbox: Sandbox) -> None:
    client.prepare(sandbox)
    client.add_server(sandbox, "clock")
    sandbox.run(*client.listing)  # whatever the client writes by itself is written by now
    before = client.content(sandbox)

    said = sandbox.toolcrib("adopt", client.name, "--yes")
    assert "clock" in said
    listed = sandbox.run(*client.listing)
    assert re.search(client.shows, listed, re.MULTILINE), listed
    assert "clock" not in re.sub(r"toolcrib.*", "", listed)
    assert "current_time" in sandbox.toolcrib("tools", "clock")

    sandbox.toolcrib("release", client.name, "--yes")
    assert client.content(sandbox) == before
    assert "clock" in sandbox.run(*client.listing)


@each_client
def test_a_client_is_connected_and_keeps_its_servers(client: RealClient, sandbox: Sandbox) -> None:
    client.prepare(sandbox)
    client.add_server(sandbox, "clock")
    sandbox.run(*client.listing)

    sandbox.toolcrib("connect", client.name)

    listed = sandbox.run(*client.listing)
    assert re.search(client.shows, listed, re.MULTILINE), listed
    assert "clock" in listed


def test_claude_code_gets_back_entries_with_the_secrets_that_its_command_was_not_told(sandbox: Sandbox) -> None:
    notes = {
        "type": "stdio",
        "command": "cat",
        "args": ["--token", "s3cret-word"],
        "env": {"NOTES_KEY": "s3cret-value"},
    }
    wiki = {"type": "http", "url": "http://127.0.0.1:9/mcp?key=s3cret-part", "headers": {"X-Key": "s3cret-header"}}
    for name, entry in {"notes": notes, "wiki": wiki}.items():
        sandbox.run("claude", "mcp", "add-json", "-s", "user", name, json.dumps(entry))
    file = sandbox.home / ".claude.json"
    before = entries(file.read_bytes())["mcpServers"]
    assert before == {"notes": notes, "wiki": wiki}

    sandbox.toolcrib("adopt", "claude-code", "--yes")
    assert b"s3cret" not in file.read_bytes()
    sandbox.toolcrib("release", "claude-code", "--yes")

    assert entries(file.read_bytes())["mcpServers"] == before
    assert not file.with_name(".claude.json.lock").exists()
