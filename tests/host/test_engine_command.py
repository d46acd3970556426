from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.host.shared_engine import SharedWorkshop
from tests.host.test_commands import command
from tests.journeys.stdio_gateway import eventually, execution
from toolcrib.cli import exits
from toolcrib.connector.link import LOST
from toolcrib.connector.place import EnginePlace
from toolcrib.host.engine_log import MOST_BYTES


async def engine(shared: SharedWorkshop, *words: str) -> dict[str, object]:
    ran = await command(shared, "engine", *words, "--json")
    assert ran.code == exits.OK, ran.err
    return json.loads(ran.out)


async def test_the_status_shows_clients_servers_and_running_calls_and_no_secret(shared: SharedWorkshop):
    entry = {**shared.scripted("desk").entry(), "env": {"KEY": "sk-verysecretvalue123"}}
    shared.configure({"desk": entry})
    async with shared.lines() as client:
        await client.initialize()
        client.send(execution(1, "desk", "hang"))
        await eventually(lambda: shared.scripted("desk").received("tools/call"))

        status = await engine(shared, "status")
        shown = await command(shared, "engine", "status")

    assert status["pid"] == shared.engine()
    assert [one["name"] for one in status["clients"]] == ["lines"]
    assert [(one["name"], one["users"]) for one in status["servers"]] == [("desk", {"lines": 1})]
    assert [(one["client"], one["server"], one["tool"]) for one in status["calls"]] == [("lines", "desk", "hang")]
    assert "lines runs desk:hang" in shown.out
    assert "verysecret" not in json.dumps(status) + shown.out


async def test_calls_shows_those_that_run_now(shared: SharedWorkshop):
    shared.configure({"desk": shared.scripted("desk")})
    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "desk", "echo", text="x")
        client.send(execution(2, "desk", "hang"))
        await eventually(lambda: len(shared.scripted("desk").received("tools/call")) == 2)

        ran = json.loads((await command(shared, "calls", "--json")).out)
        shown = (await command(shared, "calls")).out
        other = json.loads((await command(shared, "calls", "--json", "--tool", "echo")).out)

    assert [one["tool"] for one in ran["calls"]] == ["echo"]
    assert [one["tool"] for one in ran["running"]] == ["hang"]
    assert "running" in shown
    assert other["running"] == []


async def test_without_an_engine_the_status_says_so(shared: SharedWorkshop):
    assert await engine(shared, "status") == {"running": False}


async def test_an_engine_can_be_started_and_stopped(shared: SharedWorkshop):
    shared.configure({})
    started = await engine(shared, "start")

    assert started["pid"] == shared.engine()
    assert (await engine(shared, "start"))["pid"] == started["pid"]
    assert await engine(shared, "stop") == {"stopped": True, "clients": 0}
    assert not shared.engines()
    assert await engine(shared, "stop") == {"stopped": False}


async def test_a_restart_keeps_the_sessions_of_clients(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted}, shutdownGrace=0.2)
    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "desk", "echo", text="x")
        client.send(execution(2, "desk", "hang"))
        await eventually(lambda: len(scripted.received("tools/call")) == 2)
        before = shared.engine()

        restarted = await engine(shared, "restart")

        assert restarted["pid"] not in (before, None)
        answer = await client.answer(2)
        assert "OUTCOME_UNKNOWN" in json.dumps(answer)
        assert (await client.execute(3, "desk", "echo", text="on"))["content"][0]["text"] == "on"
        assert [message["id"] for message in client.messages if "id" in message] == ["hello", 1, 2, 3]


async def test_the_log_of_the_engine_is_shown(shared: SharedWorkshop):
    shared.configure({})
    await engine(shared, "start")

    assert "the engine runs" in (await command(shared, "engine", "logs")).out


async def test_an_engine_of_another_version_leaves_with_its_last_client(shared: SharedWorkshop):
    shared.configure({})
    async with shared.lines() as client:
        await client.initialize()
        old = shared.engine()
        renamed = _renamed(shared.place)
        # What an update does: clients from now on look elsewhere.
        async with shared.lines() as newer:
            await newer.initialize()
            assert sorted(shared.engines()) != [old]
            assert len(shared.engines()) == 2
            assert (await client.call(1, "list_mcp_servers"))["result"]
            await client.leave()

            await eventually(lambda: shared.engines() != [] and old not in shared.engines())
    renamed.unlink()  # it looked for its socket under the old name


def _renamed(place: EnginePlace) -> Path:
    """Let the engine at this place pass for one of another version, as far as the files tell; its socket."""
    for kind in ("lock", "sock"):
        file = Path(f"{place.folder}/{place.name}.{kind}")
        renamed = file.rename(file.with_name(f"{place.house}-{'0' * 12}.{kind}"))
    return renamed


async def test_another_version_is_refused_by_the_engine_and_served_alone(shared: SharedWorkshop):
    shared.configure({})
    async with shared.lines() as client:
        await client.initialize()
        program = (
            "import sys; import toolcrib.version as v; import toolcrib.connector.session as s; s.VERSION = '9.9';"
            "from toolcrib.connector.main import main; sys.exit(main())"
        )
        async with shared.lines(shared.command[0], "-c", program, *shared.command[3:]) as other:
            assert (await other.initialize())["result"]["serverInfo"]["name"] == "toolcrib"

    assert "this client has a gateway of its own: the engine that runs has version" in shared.complaints


async def test_an_engine_that_hangs_is_told_as_such(shared: SharedWorkshop):
    shared.configure({})
    pid = (await engine(shared, "start"))["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        for action in ("status", "stop", "restart"):
            ran = await command(shared, "engine", action)

            assert ran.code == exits.FAILED
            assert "an engine runs, but does not answer" in ran.err
            assert f"kill -9 {pid}" in ran.err
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_second_signal_ends_a_client_whose_engine_hangs(shared: SharedWorkshop, number: signal.Signals):
    shared.configure({})
    async with shared.lines() as client:
        await client.initialize()
        os.kill(shared.engine(), signal.SIGSTOP)
        try:
            await eventually(lambda: client.process.returncode is not None or client.signal(number))
        finally:
            os.kill(shared.engine(), signal.SIGCONT)

    assert client.process.returncode == -number


async def test_a_session_that_no_other_engine_takes_ends_with_a_reason(shared: SharedWorkshop):
    shared.configure({})
    async with shared.lines() as client:
        await client.initialize()
        shared.configure({}, engine=False)
        os.kill(shared.engine(), signal.SIGKILL)

        assert await client.ended() == LOST
    assert "this session can't go on in another engine" in shared.complaints


async def test_the_log_begins_anew_where_it_has_grown_too_long(shared: SharedWorkshop):
    shared.configure({})
    shared.log.write_text("old words\n" * (MOST_BYTES // 10 + 1))

    await engine(shared, "start")

    assert "old words" not in shared.log.read_text()
    assert "old words" in shared.log.with_name("engine.log.1").read_text()
    assert "the engine runs" in (await command(shared, "engine", "logs")).out


async def test_an_engine_that_hangs_can_be_killed_and_is_replaced(shared: SharedWorkshop):
    shared.configure({})
    async with shared.lines() as client:
        await client.initialize()
        os.kill(shared.engine(), signal.SIGSTOP)
        stopped = shared.engine()
        os.kill(stopped, signal.SIGKILL)
        async with asyncio.timeout(20):
            assert (await client.call(1, "list_mcp_servers"))["result"]
        assert shared.engine() != stopped
