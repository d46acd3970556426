"""Servers whose tokens come from the environment of a client still have them behind the counter."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.journeys.http_gateway import BOUND_SECONDS
from tests.journeys.http_upstream import Clinic
from toolcrib.adoption.site import Site
from toolcrib.cli.main import main
from toolcrib.clients.table import CLIENTS
from toolcrib.config.documents import parse_document

TELLER = """
import os
from mcp.server import MCPServer
server = MCPServer("teller")
@server.tool()
def tell() -> str:
    return os.environ.get("TELLER_TOKEN", "nothing")
server.run()
"""
TOKENS = {"CRM_TOKEN": "crm-t0ken", "TELLER_TOKEN": "teller-t0ken"}

Starts = Callable[[Mapping[str, Any], Mapping[str, str]], dict[str, str]]


def as_codex(entry: Mapping[str, Any], shell: Mapping[str, str]) -> dict[str, str]:
    """What Codex gives a server: a handful of variables, those the entry names, and those it sets."""
    usual = ("HOME", "LOGNAME", "PATH", "SHELL", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")
    names = (*usual, *entry.get("env_vars", ()))
    return {**{name: shell[name] for name in names if name in shell}, **entry.get("env", {})}


def as_gemini(entry: Mapping[str, Any], shell: Mapping[str, str]) -> dict[str, str]:
    """What Gemini CLI gives a server: everything that does not look like a secret, and what the entry sets, filled in."""
    plain = {name: value for name, value in shell.items() if not re.search("TOKEN|SECRET|KEY|AUTH|CERT", name)}
    filled = {
        name: re.sub(r"\$(\w+)", lambda found: shell.get(found[1], ""), text) for name, text in entry["env"].items()
    }
    return {**plain, **filled}


def codex_file(url: str) -> bytes:
    return f"""
[mcp_servers.crm]
url = {json.dumps(url)}
bearer_token_env_var = "CRM_TOKEN"

[mcp_servers.teller]
command = {json.dumps(sys.executable)}
args = ["-c", {json.dumps(TELLER)}]
env_vars = ["TELLER_TOKEN"]
""".encode()


def gemini_file(url: str) -> bytes:
    crm = {"httpUrl": url, "headers": {"Authorization": "Bearer $CRM_TOKEN"}}
    teller = {"command": sys.executable, "args": ["-c", TELLER], "env": {"TELLER_TOKEN": "${TELLER_TOKEN}"}}
    return json.dumps({"mcpServers": {"crm": crm, "teller": teller}}).encode()


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("client", "content", "container", "started"),
    [("codex", codex_file, "mcp_servers", as_codex), ("gemini", gemini_file, "mcpServers", as_gemini)],
)
async def test_the_tokens_a_client_has_reach_the_servers_that_moved_out_of_it(
    process_environment: dict[str, str], client: str, content: Callable[[str], bytes], container: str, started: Starts
) -> None:
    file = CLIENTS[client].file(Site.of(os.environ).machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    async with Clinic(accepts="crm-t0ken").serving() as url:
        file.write_bytes(content(url))
        assert main(["adopt", client, "--yes"]) == 0
        entry = parse_document(file.read_bytes(), file)[container]["toolcrib"]
        assert not any(token in file.read_text("utf-8") for token in TOKENS.values())
        env = started(entry, {**process_environment, **TOKENS})
        async with _gateway(entry, env) as gateway:
            assert await _called(gateway, "crm", "repeat", text="hello") == '{"text": "hello"}'
            assert await _called(gateway, "teller", "tell") == "teller-t0ken"


def _gateway(entry: Mapping[str, Any], env: dict[str, str]) -> Client:
    # The SDK adds HOME, PATH and their like; the rest is what the client hands on, and coverage for the test's sake.
    measured = {
        name: os.environ[name] for name in ("COVERAGE_PROCESS_CONFIG", "TOOLCRIB_ENGINE_ENABLED") if name in os.environ
    }
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env={**measured, **env})
    return Client(stdio_client(parameters), read_timeout_seconds=BOUND_SECONDS)


async def _called(gateway: Client, server: str, tool: str, **arguments: Any) -> str:
    answer = await gateway.call_tool("execute_tool", {"server": server, "tool": tool, "arguments": arguments})
    text: str = answer.content[0].text
    assert not answer.is_error, text
    if text.startswith("{") and "result" in (decoded := json.loads(text)):
        result = decoded["result"]
        return str(result.get("result") if "result" in result else json.dumps(result))
    return text
