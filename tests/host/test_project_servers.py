"""Servers of a project's file are there for clients that work in its folder, and for no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import LineClient
from toolcrib.config.paths import Paths
from toolcrib.config.trust import TrustedFiles


async def servers(client: LineClient) -> list[str]:
    answer = await client.call("servers", "list_mcp_servers")
    return [one["name"] for one in json.loads(answer["result"]["content"][0]["text"])["servers"]]


def project(folder: Path, entry: dict[str, Any]) -> Path:
    folder.mkdir()
    file = folder / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"local": entry}}), encoding="utf-8")
    return file


async def test_clients_of_one_engine_see_the_servers_of_their_own_folder(shared: SharedWorkshop) -> None:
    shared.configure({"desk": shared.scripted("desk")})
    trusted = project(shared.folder / "trusted", shared.scripted("local").entry())
    foreign = project(shared.folder / "foreign", shared.scripted("other").entry())
    (shared.folder / "plain").mkdir()
    TrustedFiles(Paths.of(shared.environment).trusted_files).trust(trusted)

    async with (
        shared.lines(cwd=shared.folder / "trusted") as inside,
        shared.lines(cwd=shared.folder / "plain") as outside,
        shared.lines(cwd=shared.folder / "foreign") as stranger,
    ):
        for client in (inside, outside, stranger):
            await client.initialize()
        assert await servers(inside) == ["desk", "local"]
        assert await servers(outside) == ["desk"]
        assert await servers(stranger) == ["desk"]
        assert (await inside.execute("run", "local", "echo", text="x"))["content"][0]["text"] == "x"
        for client in (inside, outside, stranger):
            assert await client.leave() == 0
    assert f"the servers of {foreign} are not used" in shared.complaints
    waiting = json.loads((shared.home / "waiting-files.json").read_text("utf-8"))
    assert [one["path"] for one in waiting] == [str(foreign)]
