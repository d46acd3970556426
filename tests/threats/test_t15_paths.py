"""T15: no name of a server, a tool or a handle leads out of our own folders."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.journeys.stdio_gateway import Workshop, line_failure

PROGRAM = Path(__file__).with_name("programs") / "wandering_names.py"


def hostile_names(folder: Path) -> list[str]:
    climbing = [f"{'../' * steps}stray{steps}" for steps in range(1, 9)]
    return [
        *climbing,
        f"{folder}/absolute",
        "..\\..\\stray",
        "CON",
        "aux.txt",
        "a" * 300,
        "trailing. ",
        "nul\0byte",
        ".",
    ]


def files_in(folder: Path, *, beside: Path) -> set[Path]:
    """Everything in a folder but what is in another one of it."""
    return {path for path in folder.rglob("*") if not path.is_relative_to(beside)}


async def toolcrib(workshop: Workshop, *words: str) -> None:
    """Run a command; whether it succeeds with such names is not the question."""
    command = [sys.executable, "-m", "toolcrib", "--config", str(workshop.config), *words]
    quiet = asyncio.subprocess.DEVNULL
    ran = await asyncio.create_subprocess_exec(*command, env=workshop.environment, stdout=quiet, stderr=quiet)
    assert await ran.wait() >= 0


async def test_t15_no_name_writes_outside_our_folders(workshop: Workshop) -> None:
    # Where every name that climbs out of it is seen.
    workshop.home = workshop.folder / "deep" / "home"
    workshop.environment["TOOLCRIB_HOME"] = str(workshop.home)
    folder = workshop.folder / "around"
    folder.mkdir()
    names = hostile_names(folder)
    entry = {"command": sys.executable, "args": ["-I", "-S", str(PROGRAM), json.dumps(names)]}
    workshop.configure(dict.fromkeys((*names, "desk"), entry))
    victim = workshop.folder / "victim.txt"
    victim.write_text("untouched", encoding="utf-8")
    (workshop.home / "logs").mkdir(parents=True)
    (workshop.home / "logs" / "desk.log").symlink_to(victim)
    workshop.stderr.touch()
    before = files_in(workshop.folder, beside=workshop.home)

    async with workshop.lines() as client:
        await client.initialize()
        listed = json.loads((await client.call("list", "list_mcp_servers"))["result"]["content"][0]["text"])["servers"]
        assert len(listed) > 5
        for server in [one["name"] for one in listed]:
            tools = json.loads((await client.call(server, "list_tools", server=server))["result"]["content"][0]["text"])
            assert tools["tools"]
            await client.execute(f"run {server}", server, tools["tools"][0]["name"])
        for handle in ("../victim.txt", str(victim), "..%2fvictim.txt"):
            refused = await client.execute(handle, "toolcrib", "read_result", handle=handle)
            assert line_failure(refused)["code"]
        assert await client.leave() == 0
    await toolcrib(workshop, "discover", "--wait", "20")
    await toolcrib(workshop, "capabilities", "export")

    assert files_in(workshop.folder, beside=workshop.home) == before
    assert victim.read_text(encoding="utf-8") == "untouched"
    written = [path.relative_to(workshop.home) for path in workshop.home.rglob("*") if path.is_file()]
    assert any(path.parts[0] == "capabilities" for path in written)
