"""The Inspector, the protocol's own debugging client, finds and calls our tools from its command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.http_gateway import gateway_process, write_config
from tests.servers.launch import Launch

pytestmark = pytest.mark.parametrize("era", ["legacy", "modern"])

FIVE = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"]
BOUND_SECONDS = 40.0


def inspect(inspector: Launch, environment: dict[str, str], *arguments: str) -> Any:
    """What the Inspector prints for one method."""
    command = [inspector.command, *inspector.args, *arguments, "--format", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_both_methods(inspector: Launch, environment: dict[str, str], target: list[str], era: str) -> None:
    target = [*target, "--protocol-era", era]
    listed = inspect(inspector, environment, *target, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in listed["result"]["tools"]] == FIVE
    call = ["--method", "tools/call", "--tool-name", "list_tools", "--tool-arg", "server=time"]
    answer = json.loads(inspect(inspector, environment, *target, *call)["result"]["content"][0]["text"])
    assert {tool["name"] for tool in answer["tools"]} == {"get_current_time", "convert_time"}


def test_the_inspector_lists_and_calls_over_stdio(
    tmp_path: Path, process_environment: dict[str, str], inspector: Launch, time_server: Launch, era: str
) -> None:
    config = write_config(tmp_path, {"time": time_server.entry()})
    arguments = ["-m", "toolcrib", "--config", str(config), "serve"]
    entry = {"command": sys.executable, "args": arguments, "env": process_environment}
    clients_file = tmp_path / "client.json"
    clients_file.write_text(json.dumps({"mcpServers": {"toolcrib": entry}}))
    target = ["--config", str(clients_file), "--server", "toolcrib"]
    check_both_methods(inspector, process_environment, target, era)


def test_the_inspector_lists_and_calls_over_http(
    tmp_path: Path, process_environment: dict[str, str], inspector: Launch, time_server: Launch, era: str
) -> None:
    config = write_config(tmp_path, {"time": time_server.entry()})
    with gateway_process(tmp_path, config, process_environment) as gateway:
        target = ["--server-url", gateway.url, "--transport", "http"]
        check_both_methods(
            inspector, process_environment, [*target, "--header", f"Authorization: Bearer {gateway.token}"], era
        )
