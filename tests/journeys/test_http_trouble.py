"""What HTTP clients notice when a server dies, hangs, or the configuration is edited under them: as little as possible."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.journeys.http_gateway import BOUND_SECONDS, MODES, RunningGateway, connect, gateway_process, write_config
from tests.journeys.stdio_gateway import ask, execute, failure, run
from tests.servers.launch import Launch

pytestmark = pytest.mark.parametrize("mode", MODES)

MUTE = {"command": sys.executable, "args": ["-I", "-S", "-c", "import sys; sys.stdin.read()"]}


def processes_of(gateway: RunningGateway, program: str) -> set[int]:
    """The processes behind the counter whose command line names this program."""
    return {pid for pid in gateway.descendants() if program.encode() in command_line_of(pid)}


def command_line_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


async def servers(client: Client) -> dict[str, dict[str, Any]]:
    return {server["name"]: server for server in (await ask(client, "list_mcp_servers"))["servers"]}


async def test_a_killed_server_is_started_again_for_the_next_call(
    tmp_path: Path, process_environment: dict[str, str], everything_server: Launch, mode: str
) -> None:
    config = write_config(tmp_path, {"everything": everything_server.entry()})
    with gateway_process(tmp_path, config, process_environment) as gateway:
        async with connect(gateway, mode) as client:
            assert await run(client, "everything", "echo", message="one") == "Echo: one"
            (first,) = processes_of(gateway, "server-everything")
            os.kill(first, signal.SIGKILL)
            async with asyncio.timeout(BOUND_SECONDS):
                while (await servers(client))["everything"]["status"] == "connected":
                    pass
            assert await run(client, "everything", "echo", message="two") == "Echo: two"
            assert processes_of(gateway, "server-everything").isdisjoint({first})


async def test_a_server_that_never_answers_delays_nobody_else(
    tmp_path: Path, process_environment: dict[str, str], everything_server: Launch, mode: str
) -> None:
    mute = {**MUTE, "tools": [{"name": "speak", "description": "Say a word"}]}
    hung = {"patient": mute, "impatient": {**mute, "startupTimeout": 1}}
    config = write_config(tmp_path, {**hung, "everything": everything_server.entry()})
    with gateway_process(tmp_path, config, process_environment) as gateway:
        async with connect(gateway, mode) as client:
            waiting = asyncio.create_task(execute(client, "patient", "speak"))
            assert await run(client, "everything", "echo", message="here") == "Echo: here"
            found = await ask(client, "search_tools", query="echo", limit=1)
            assert found["results"][0]["tool"] == "echo"
            assert failure(await execute(client, "impatient", "speak"))["code"] == "TOOL_EXECUTION_TIMEOUT"
            assert (await servers(client))["impatient"]["status"] == "error"
            assert not waiting.done()
            waiting.cancel()


async def test_an_edited_configuration_is_taken_over_without_a_reconnect(
    tmp_path: Path, process_environment: dict[str, str], everything_server: Launch, time_server: Launch, mode: str
) -> None:
    config = write_config(tmp_path, {"everything": everything_server.entry()})
    with gateway_process(tmp_path, config, process_environment) as gateway:
        async with connect(gateway, mode) as client:
            assert await run(client, "everything", "echo", message="one") == "Echo: one"
            running = processes_of(gateway, "server-everything")
            both = {"everything": everything_server.entry(), "time": time_server.entry()}
            write_config(tmp_path, both, toolRules=[{"pattern": "echo", "enabled": False}])
            gateway.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(BOUND_SECONDS):
                while "time" not in await servers(client):
                    pass
            assert failure(await execute(client, "everything", "echo", message="two"))["code"] == "TOOL_DISABLED"
            assert len((await ask(client, "list_tools", server="time"))["tools"]) == 2
            assert processes_of(gateway, "server-everything") == running


async def test_a_bad_edit_changes_nothing_and_is_reported(
    tmp_path: Path, process_environment: dict[str, str], everything_server: Launch, mode: str
) -> None:
    config = write_config(tmp_path, {"everything": everything_server.entry()})
    with gateway_process(tmp_path, config, process_environment) as gateway:
        async with connect(gateway, mode) as client:
            config.write_text('{"discovery": {"servers": ', encoding="utf-8")
            gateway.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(BOUND_SECONDS):
                while str(config) not in gateway.stderr:
                    await servers(client)
            assert await run(client, "everything", "echo", message="still here") == "Echo: still here"
        assert "Traceback" not in gateway.stderr
