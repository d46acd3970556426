"""The Inspector, the protocol's own debugging client, finds and runs tools from its command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.asking import asking_server
from tests.journeys.http_gateway import gateway_process, write_config
from tests.journeys.stdio_gateway import Workshop
from tests.servers.launch import Launch

pytestmark = pytest.mark.timeout(120)

FIVE = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"]
BOUND_SECONDS = 40.0


class Inspector:
    """The Inspector's command line with a gateway to look at; each method is a process of its own."""

    def __init__(self, launch: Launch, environment: dict[str, str], *target: str) -> None:
        self._command = [launch.command, *launch.args, *target, "--format", "json"]
        self._environment = {**environment, "MCP_INSPECTOR_SECRET_STORE": "memory"}

    def says(self, era: str, *arguments: str) -> Any:
        """What it prints for one method."""
        command = [*self._command, "--protocol-era", era, *arguments]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["result"]

    def calls(self, era: str, tool: str, given: dict[str, str]) -> Any:
        arguments = [f"{name}={value}" for name, value in given.items()]
        result = self.says(era, "--method", "tools/call", "--tool-name", tool, "--tool-arg", *arguments)
        return json.loads(result["content"][0]["text"])


def check(inspector: Inspector) -> None:
    listed = inspector.says("legacy", "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in listed["tools"]] == FIVE
    found = inspector.calls("modern", "search_tools", {"query": "needs_model", "server": "asking"})
    assert found["results"][0]["tool"] == "needs_model"
    for era in ("legacy", "modern"):
        asked = {"server": "asking", "tool": "later", "arguments": '{"times": 2}'}
        assert inspector.calls(era, "execute_tool", asked) == {"success": True, "result": {"at": "last"}}


def test_the_inspector_lists_and_calls_over_stdio(
    tmp_path: Path, unmeasured_environment: dict[str, str], inspector: Launch
) -> None:
    workshop = Workshop(tmp_path, unmeasured_environment)
    workshop.configure({"asking": asking_server("modern")})
    entry = {"command": workshop.command[0], "args": workshop.command[1:], "env": unmeasured_environment}
    clients_file = tmp_path / "client.json"
    clients_file.write_text(json.dumps({"mcpServers": {"toolcrib": entry}}))

    check(Inspector(inspector, unmeasured_environment, "--config", str(clients_file), "--server", "toolcrib"))


def test_the_inspector_lists_and_calls_over_http(
    tmp_path: Path, unmeasured_environment: dict[str, str], inspector: Launch
) -> None:
    config = write_config(tmp_path, {"asking": asking_server("modern")})
    with gateway_process(tmp_path, config, unmeasured_environment) as gateway:
        target = ["--server-url", gateway.url, "--transport", "http"]
        check(
            Inspector(inspector, unmeasured_environment, *target, "--header", f"Authorization: Bearer {gateway.token}")
        )
