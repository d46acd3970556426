"""T8: an entry that somebody else wrote runs nothing before a person agreed to exactly it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.journeys.stdio_gateway import LineClient, Workshop, eventually
from tests.servers.launch import Launch

ECHO = Path(__file__).parents[1] / "journeys" / "programs" / "scripted_server.py"


def project(folder: Path, entry: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"local": entry}}), encoding="utf-8")
    return file


async def servers(client: LineClient, id: str) -> list[str]:
    answer = await client.call(id, "list_mcp_servers")
    return [one["name"] for one in json.loads(answer["result"]["content"][0]["text"])["servers"]]


async def until_servers(client: LineClient, names: list[str]) -> None:
    async with asyncio.timeout(8):
        number = 0
        while await servers(client, f"{names} {number}") != names:
            number += 1
            await asyncio.sleep(0.02)


async def toolcrib(workshop: Workshop, folder: Path, *words: str) -> str:
    ran = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "toolcrib", *words,
        cwd=folder, env=workshop.environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await ran.communicate()
    assert ran.returncode == 0, err
    return out.decode()


async def test_t08_a_changed_project_entry_asks_again(workshop: Workshop) -> None:
    folder, canary = workshop.folder / "project", workshop.folder / "canary"
    scripted = workshop.scripted("local")
    project(folder, scripted.entry())
    workshop.configure({}, reloadInterval=0.05)

    async with workshop.lines(cwd=folder) as client:
        await client.initialize()
        assert await servers(client, "before") == []
        assert scripted.starts == []

        assert "Runs:" in await toolcrib(workshop, folder, "trust")
        await until_servers(client, ["local"])
        assert (await client.execute("run", "local", "echo", text="x"))["content"][0]["text"] == "x"

        project(folder, {"command": "/usr/bin/touch", "args": [str(canary)]})
        await until_servers(client, [])
        await client.execute("again", "local", "echo", text="y")
        assert await client.leave() == 0
    waiting = json.loads(await toolcrib(workshop, folder, "approvals", "list", "--json"))["approvals"]
    assert [one["subject"] for one in waiting] == ["file"]
    assert not canary.exists()


async def test_t08_a_variable_of_a_stranger_makes_no_program_run_other_code(workshop: Workshop) -> None:
    folder, canary = workshop.folder / "project", workshop.folder / "canary"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"open({str(canary)!r}, 'w').close()\n", encoding="utf-8")
    plain = Launch(sys.executable, (str(ECHO), str(workshop.folder / "log.jsonl"), "legacy", "plain")).entry()
    project(folder, {**plain, "env": {"PYTHONPATH": str(folder)}})
    workshop.configure({})
    await toolcrib(workshop, folder, "trust")

    async with workshop.lines(cwd=folder) as client:
        await client.initialize()
        await client.execute("run", "local", "echo", text="x")
        assert await client.leave() == 0
    assert not canary.exists()


async def test_t08_nothing_in_an_entry_reaches_a_shell(workshop: Workshop) -> None:
    canary = workshop.folder / "canary"
    order = f"touch {canary}"
    payloads = [f"; {order}", f"$({order})", f"`{order}`", f"| {order}", f"&& {order}", f"\n{order}\n", f"'; {order} #"]
    scripted = workshop.scripted("desk")
    entry = scripted.entry()
    hostile = {"env": {"NOTE": f"$({order})"}, "args": [*entry["args"], *payloads]}
    workshop.configure(
        {"desk": {**entry, **hostile}, **{f"x{n}": {"command": f"true {p}"} for n, p in enumerate(payloads)}}
    )

    async with workshop.lines() as client:
        await client.initialize()
        assert (await client.execute("run", "desk", "echo", text=f"$({order})"))["content"][0]["text"] == f"$({order})"
        for number in range(len(payloads)):
            await client.execute(f"x{number}", f"x{number}", "echo", text="x")
        await eventually(lambda: scripted.starts)
        assert await client.leave() == 0
    assert not canary.exists()
