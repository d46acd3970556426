"""What clients of one engine share, and what stays each one's own."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.host.shared_engine import SharedWorkshop
from tests.host.test_commands import command
from tests.journeys.stdio_gateway import BOUND_SECONDS, LineClient, eventually, execution
from tests.servers.launch import Launch


def names(answer: dict[str, Any]) -> list[str]:
    return [one["name"] for one in json.loads(answer["result"]["content"][0]["text"])["servers"]]


async def variables(client: LineClient, server: str) -> dict[str, str]:
    """The environment that the everything server has."""
    result = await client.execute(f"env of {server}", server, "get-env")
    return json.loads(result["content"][0]["text"])["result"]


async def test_the_variables_of_a_client_reach_the_servers_of_its_own_workspace_only(
    shared: SharedWorkshop, everything_server: Launch
):
    shared.configure({"every": {**everything_server.entry(), "env": {"GIVEN": "${WHO:-nobody}"}}})
    async with shared.lines(WHO="ada") as ada, shared.lines(WHO="bob") as bob, shared.lines(WHO="ada") as again:
        for client in (ada, bob, again):
            await client.initialize()

        assert (await variables(ada, "every"))["GIVEN"] == "ada"
        assert (await variables(bob, "every"))["GIVEN"] == "bob"
        assert (await variables(again, "every"))["GIVEN"] == "ada"
        assert "WHO" not in await variables(bob, "every")
        assert len(shared.children("every")) == 2


async def test_each_configuration_is_a_workspace_of_its_own_over_shared_servers(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})
    other = shared.folder / "other.json"
    entry = shared._entry("desk", scripted)
    rules = [{"pattern": "echo", "enabled": False}]
    other.write_text(json.dumps({"discovery": {"servers": {"bench": entry}, "toolRules": rules}}))
    elsewhere = [*shared.command[:4], str(other), "serve"]

    async with shared.lines() as one, shared.lines(*elsewhere) as two:
        await one.initialize()
        await two.initialize()

        assert names(await one.call(1, "list_mcp_servers")) == ["desk"]
        assert names(await two.call(1, "list_mcp_servers")) == ["bench"]
        assert (await one.execute(2, "desk", "echo", text="x"))["content"][0]["text"] == "x"
        assert "TOOL_DISABLED" in str(await two.execute(2, "bench", "echo", text="x"))
        assert not (await two.execute(3, "bench", "steps", count=1)).get("isError")
        assert len(scripted.starts) == 1


async def test_a_trusted_project_file_is_seen_by_clients_of_that_folder_only(shared: SharedWorkshop, tmp_path: Path):
    shared.configure({"desk": shared.scripted("desk")})
    project = tmp_path / "project"
    project.mkdir()
    file = project / "toolcrib.json"
    file.write_text(json.dumps({"discovery": {"servers": {"bench": shared._entry("bench", shared.scripted("bench"))}}}))
    plain = [*shared.command[:3], "serve"]

    async def seen() -> list[str]:
        async with shared.lines(*plain, cwd=project) as inside, shared.lines(*plain) as outside:
            await inside.initialize()
            await outside.initialize()
            assert names(await outside.call(1, "list_mcp_servers")) == ["desk"]
            return names(await inside.call(1, "list_mcp_servers"))

    assert await seen() == ["desk"]
    assert (await command(shared, "trust", str(file))).code == 0
    assert await seen() == ["bench"]


async def test_a_server_without_a_folder_of_its_own_runs_in_the_folder_of_its_client(
    shared: SharedWorkshop, tmp_path: Path
):
    shared.configure({"desk": shared.scripted("desk")})
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    async with shared.lines(cwd=folders[0]) as one, shared.lines(cwd=folders[1]) as two:
        for client in (one, two):
            await client.initialize()
            await client.execute(1, "desk", "echo", text="x")

        places = {Path(f"/proc/{pid}/cwd").resolve() for pid in shared.children("desk")}
        assert places == {folder.resolve() for folder in folders}


@pytest.mark.parametrize(("share", "processes"), [("never", 2), ("always", 1)])
async def test_an_entry_says_whether_clients_share_its_process(shared: SharedWorkshop, share: str, processes: int):
    shared.configure({"desk": {**shared.scripted("desk").entry(), "share": share}})
    async with shared.lines() as one, shared.lines() as two:
        for client in (one, two):
            await client.initialize()
            await client.execute(1, "desk", "echo", text="x")
        # A process that was only started to read its tools ends soon.
        await eventually(lambda: len(shared.children("desk")) == processes)

        await one.leave()
        assert not (await two.execute(2, "desk", "echo", text="x")).get("isError")
        await eventually(lambda: len(shared.children("desk")) == 1)


async def test_a_crash_of_a_shared_server_fails_only_what_ran_there(shared: SharedWorkshop):
    shared.configure({name: shared.scripted(name) for name in ("desk", "bench")})
    async with shared.lines() as one, shared.lines() as two:
        for client in (one, two):
            await client.initialize()
        two.send(execution(1, "bench", "wait"))
        await eventually(lambda: shared.scripted("bench").received("tools/call"))

        assert (await one.execute(1, "desk", "die"))["isError"]
        shared.scripted("bench").let_go()

        assert not (await two.answer(1))["result"].get("isError")
        assert not (await two.execute(2, "desk", "echo", text="x")).get("isError")


async def test_a_large_result_is_read_by_the_client_that_got_it_and_in_its_workspace(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted}, maxResultBytes=2000)
    other = shared.folder / "other.json"
    other.write_text(shared.config.read_text())
    elsewhere = [*shared.command[:4], str(other), "serve"]
    async with shared.lines() as one, shared.lines(*elsewhere) as two:
        for client in (one, two):
            await client.initialize()
        large = str(await one.execute(1, "desk", "big", characters=50_000))
        handle = large.split("handle")[1].split('"')[2].strip("\\")

        mine = await one.execute(2, "toolcrib", "read_result", handle=handle)
        theirs = await two.execute(2, "toolcrib", "read_result", handle=handle)

        assert not mine.get("isError"), mine
        assert "RESULT_EXPIRED" in str(theirs)


async def test_a_setting_that_is_the_same_for_all_clients_comes_from_the_person_s_own_file(shared: SharedWorkshop):
    shared.configure({}, callTimeout=7)
    other = shared.folder / "other.json"
    other.write_text(json.dumps({"discovery": {"callTimeout": 5, "maxResultBytes": 9000}}))
    async with shared.lines(*shared.command[:4], str(other), "serve") as client:
        await client.initialize()
        await client.leave()

    assert "callTimeout: not used for this client" in shared.complaints


async def test_an_edit_and_a_reload_reach_every_client_of_the_engine(shared: SharedWorkshop):
    shared.configure({"desk": shared.scripted("desk")}, reloadInterval=600)
    async with shared.lines() as one, shared.lines() as two:
        for client in (one, two):
            await client.initialize()
        shared.configure({"bench": shared.scripted("bench")}, reloadInterval=600)
        os.kill(shared.engine(), signal.SIGHUP)

        for client in (one, two):
            await _until_named(client, ["bench"])


async def _until_named(client: LineClient, wanted: list[str]) -> None:
    async with asyncio.timeout(BOUND_SECONDS):
        for number in itertools.count():
            if names(await client.call(f"names {number}", "list_mcp_servers")) == wanted:
                return
