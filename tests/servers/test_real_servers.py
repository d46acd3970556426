from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.servers.launch import Launch

HANDSHAKE_ERA = "2025-11-25"
STATELESS_ERA = "2026-07-28"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=10)
    return tmp_path


async def revision_and_tools(server: Launch, log: Path) -> tuple[str, set[str]]:
    """What the official client agrees on with `server` when it is free to choose."""
    parameters = StdioServerParameters(command=server.command, args=list(server.args), env=server.env)
    with anyio.fail_after(30), log.open("w") as errlog:
        async with Client(stdio_client(parameters, errlog=errlog)) as client:
            listed = await client.list_tools()
            return str(client.protocol_version), {tool.name for tool in listed.tools}


async def test_everything_speaks_the_handshake_era(everything_server: Launch, tmp_path: Path):
    revision, tools = await revision_and_tools(everything_server, tmp_path / "log")

    assert revision == HANDSHAKE_ERA
    assert "echo" in tools


async def test_filesystem_speaks_the_handshake_era(filesystem_server: Callable[[Path], Launch], tmp_path: Path):
    revision, tools = await revision_and_tools(filesystem_server(tmp_path), tmp_path / "log")

    assert revision == HANDSHAKE_ERA
    assert "read_text_file" in tools


async def test_memory_speaks_the_handshake_era(memory_server: Callable[[Path], Launch], tmp_path: Path):
    revision, tools = await revision_and_tools(memory_server(tmp_path / "graph.jsonl"), tmp_path / "log")

    assert revision == HANDSHAKE_ERA
    assert "create_entities" in tools


async def test_time_speaks_the_stateless_era(time_server: Launch, tmp_path: Path):
    revision, tools = await revision_and_tools(time_server, tmp_path / "log")

    assert revision == STATELESS_ERA
    assert tools == {"get_current_time", "convert_time"}


async def test_git_speaks_the_stateless_era(git_server: Callable[[Path], Launch], repository: Path, tmp_path: Path):
    revision, tools = await revision_and_tools(git_server(repository), tmp_path / "log")

    assert revision == STATELESS_ERA
    assert "git_status" in tools


async def test_fetch_speaks_the_stateless_era(fetch_server: Launch, tmp_path: Path):
    revision, tools = await revision_and_tools(fetch_server, tmp_path / "log")

    assert revision == STATELESS_ERA
    assert tools == {"fetch"}


def test_the_inspector_lists_the_tools_of_a_server(inspector: Launch, time_server: Launch):
    command = [inspector.command, *inspector.args, time_server.command, *time_server.args, "--method", "tools/list"]

    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=45)

    assert "get_current_time" in shown.stdout
