"""The scanner takes nothing in the definitions of well-known servers for hostile, and hardly anything for odd."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.servers.launch import Launch
from toolcrib.model.finding import Finding
from toolcrib.scanner.beside import KnownNames, beside
from toolcrib.scanner.scan import scan


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=10)
    return tmp_path


async def definitions(server: Launch, log: Path) -> AsyncIterator[Mapping[str, Any]]:
    """All that a server says of itself, its tools, prompts, resources and templates."""
    parameters = StdioServerParameters(command=server.command, args=list(server.args), env=server.env)
    with anyio.fail_after(30), log.open("w") as errlog:
        async with Client(stdio_client(parameters, errlog=errlog)) as client:
            told = client.server_info.model_dump(mode="json", exclude_none=True)
            yield {**told, "instructions": client.instructions or ""}
            offers = client.server_capabilities
            listed = [*(await client.list_tools()).tools]
            listed += (await client.list_prompts()).prompts if offers.prompts else []
            listed += (await client.list_resources()).resources if offers.resources else []
            listed += (await client.list_resource_templates()).resource_templates if offers.resources else []
            for one in listed:
                yield one.model_dump(mode="json", by_alias=True, exclude_none=True)


async def test_real_servers_have_no_hard_findings(
    everything_server: Launch,
    filesystem_server: Callable[[Path], Launch],
    memory_server: Callable[[Path], Launch],
    time_server: Launch,
    git_server: Callable[[Path], Launch],
    fetch_server: Launch,
    repository: Path,
    tmp_path: Path,
) -> None:
    servers = {
        "everything": everything_server,
        "filesystem": filesystem_server(tmp_path),
        "memory": memory_server(tmp_path / "graph.jsonl"),
        "time": time_server,
        "git": git_server(repository),
        "fetch": fetch_server,
    }
    told = {name: [one async for one in definitions(server, tmp_path / "log")] for name, server in servers.items()}
    known = KnownNames.of({name: [str(one.get("name", "")) for one in offers] for name, offers in told.items()})
    found: list[tuple[str, Finding]] = [
        (name, finding)
        for name, offers in told.items()
        for one in offers
        for finding in beside(name, scan(one), lambda: known)
    ]

    assert sum(map(len, told.values())) > 60
    assert [(name, finding) for name, finding in found if finding.is_hard] == []
