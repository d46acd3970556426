"""Clients of other makes: each connects, lists, searches, runs a tool and is asked meanwhile, on stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.asking import asking_server
from tests.journeys.http_gateway import gateway_process, write_config
from tests.journeys.stdio_gateway import Workshop
from tests.servers.launch import NODE_MODULES

pytestmark = pytest.mark.timeout(90)

PROGRAMS = Path(__file__).with_name("programs")
FIVE = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"]
ASKED = [f"{server} asks: What is your name?" for server in ("old", "new")]
ANSWER = {"action": "accept", "content": {"name": "Ann"}}
REVISIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
BOUND_SECONDS = 60.0


@pytest.mark.parametrize(("version", "eras"), [("1", ["legacy"]), ("2", ["legacy", "auto"])])
async def test_a_client_of_the_typescript_sdk_works_with_the_gateway(
    tmp_path: Path, unmeasured_environment: dict[str, str], newer_node: str, version: str, eras: list[str]
) -> None:
    program = [newer_node, str(PROGRAMS / "typescript.cjs"), str(NODE_MODULES), version]

    await check(program, eras, tmp_path, unmeasured_environment)


async def test_a_client_of_fastmcp_works_with_the_gateway(
    tmp_path: Path, unmeasured_environment: dict[str, str], fastmcp_python: str
) -> None:
    program = [fastmcp_python, str(PROGRAMS / "fastmcp_client.py")]

    await check(program, ["legacy", "auto"], tmp_path, unmeasured_environment)


async def check(program: list[str], eras: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Have a program visit a gateway on both transports, in each of these eras of its client."""
    servers = {"old": asking_server("legacy"), "new": asking_server("modern")}
    config = write_config(folder, servers)
    with gateway_process(folder, config, environment, home=folder / "home") as gateway:
        workshop = Workshop(folder, environment)
        stdio = {"command": workshop.command[0], "args": workshop.command[1:], "env": environment}
        http = {"url": gateway.url, "token": gateway.token}
        targets = [{"era": era, **target} for era in eras for target in (stdio, http)]
        seen = await output(program, targets, environment)

    for target, visit in zip(targets, seen, strict=True):
        assert visit["revision"] == REVISIONS[target["era"]]
        assert visit["tools"] == FIVE
        assert sorted(visit["found"][:2]) == ["new:name", "old:name"]
        assert visit["answers"] == [ANSWER, ANSWER]
        assert visit["asked"] == ASKED


async def output(program: list[str], targets: list[dict[str, Any]], environment: Mapping[str, str]) -> list[Any]:
    process = await asyncio.create_subprocess_exec(
        *program, json.dumps(targets), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(BOUND_SECONDS):
            said, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode()
    return list(json.loads(said))
