"""Two clients of one HTTP gateway, with real server processes: what they share, and what each has for itself."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from mcp import Client

from tests.journeys.http_gateway import connect, gateway_process, write_config
from tests.journeys.stdio_gateway import execute

PROGRAM = Path(__file__).parents[1] / "engine" / "programs" / "telling_server.py"


async def told(client: Client, server: str) -> tuple[int, int]:
    """The process that answered, and how often it was called."""
    answer = (await execute(client, server, "tell")).structured_content
    assert answer is not None
    return answer["pid"], answer["calls"]


async def test_sessions_share_a_server_and_have_one_that_keeps_state_each_for_itself(
    tmp_path: Path, process_environment: Mapping[str, str]
) -> None:
    entry = {"command": sys.executable, "args": [str(PROGRAM)]}
    servers = {"tickets": entry, "repl": {**entry, "env": {"KIND": "repl"}}}
    config = write_config(tmp_path, servers, statefulServers=["repl"])

    with gateway_process(tmp_path, config, process_environment) as gateway:
        async with connect(gateway, "legacy", name="one") as first, connect(gateway, "legacy", name="two") as second:
            tickets = [await told(client, "tickets") for client in (first, second, first)]
            repl = [await told(client, "repl") for client in (first, second, first)]

    assert [calls for _, calls in tickets] == [1, 2, 3]
    assert len({pid for pid, _ in tickets}) == 1
    assert [calls for _, calls in repl] == [1, 1, 2]
    assert len({pid for pid, _ in repl}) == 2
