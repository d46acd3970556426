from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import BOUND_SECONDS, MODES, ask, eventually, execution, line_failure, run
from tests.servers.launch import Launch
from toolcrib.cli import exits
from toolcrib.connector.start import READY


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_of_either_era_is_served_by_the_engine(shared: SharedWorkshop, mode: str):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})

    async with shared.client(mode) as client:
        assert next(tool.name for tool in (await client.list_tools()).tools) == "list_mcp_servers"
        assert "echo" in str(await ask(client, "list_tools", server="desk"))
        assert await run(client, "desk", "echo", text="hello") == "hello"
        assert shared.engine()
        assert "WARNING" not in shared.log.read_text()


async def test_clients_share_one_engine_and_one_process_of_a_server(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(shared.client(mode)) for mode in MODES * 2]
        texts = [await run(client, "desk", "echo", text=f"I am {n}") for n, client in enumerate(clients)]

        assert texts == [f"I am {n}" for n in range(len(clients))]
        assert len(shared.engines()) == 1
        assert len(shared.children("desk")) == 1


async def test_twenty_clients_at_once_start_exactly_one_engine(shared: SharedWorkshop):
    shared.configure({})

    async def one() -> int:
        async with shared.lines() as client:
            await client.initialize()
            await client.call(1, "list_mcp_servers")
            return await client.leave()

    assert await asyncio.gather(*(one() for _ in range(20))) == [0] * 20

    assert len(shared.engines()) == 1
    assert shared.log.read_text().count("the engine runs") == 1
    assert not shared.complaints


async def test_a_socket_that_a_killed_engine_left_is_cleared(shared: SharedWorkshop):
    shared.configure({})
    async with shared.lines() as client:
        await client.initialize()
        await client.leave()
    first = shared.engine()
    os.kill(first, signal.SIGKILL)
    await eventually(lambda: not shared.engines())
    assert Path(shared.place.socket).exists()

    async with shared.lines() as client:
        assert (await client.initialize())["result"]["serverInfo"]["name"] == "toolcrib"

        assert shared.engine() != first


async def test_the_socket_and_its_folder_are_for_their_owner_only(shared: SharedWorkshop):
    shared.configure({})
    async with shared.lines() as client:
        await client.initialize()

        assert stat.S_IMODE(Path(shared.place.folder).lstat().st_mode) == 0o700
        assert stat.S_IMODE(Path(shared.place.socket).lstat().st_mode) == 0o600


@pytest.mark.parametrize("manner", ["open to all", "a link", "a file"])
async def test_a_folder_that_others_could_have_made_is_not_used(shared: SharedWorkshop, manner: str, tmp_path: Path):
    shared.configure({})
    folder = Path(shared.place.folder)
    if manner == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    elif manner == "a link":
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        folder.symlink_to(elsewhere)
    else:
        folder.write_text("")

    async with shared.lines() as client:
        assert (await client.initialize())["result"]["serverInfo"]["name"] == "toolcrib"
        await client.leave()

    assert "this client has a gateway of its own" in shared.complaints
    assert not shared.engines()


async def test_an_engine_that_can_t_start_is_told_and_the_client_is_served_all_the_same(shared: SharedWorkshop):
    shared.configure({})
    shared.log.mkdir()  # it can't write its log there

    async with shared.lines() as client:
        assert (await client.initialize())["result"]["serverInfo"]["name"] == "toolcrib"
        await client.leave()

    assert "this client has a gateway of its own" in shared.complaints


async def test_a_configuration_that_can_t_be_used_ends_the_client_with_the_reason(shared: SharedWorkshop):
    shared.config.write_text('{"discovery": {"maxTools": "many"}}')

    async with shared.lines() as client:
        assert await client.ended() == exits.CONFIGURATION

    assert "maxTools" in shared.complaints


async def test_a_client_that_leaves_takes_only_itself_along(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})

    async with shared.lines() as staying:
        await staying.initialize()
        async with shared.lines() as leaving:
            await leaving.initialize()
            await leaving.execute(1, "desk", "echo", text="x")
            assert await leaving.leave() == 0
        assert (await staying.execute(1, "desk", "echo", text="y"))["content"][0]["text"] == "y"
        assert len(scripted.starts) == 1


async def test_a_killed_client_ends_its_session_and_no_other(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})

    async with shared.lines() as staying, shared.lines() as killed:
        await staying.initialize()
        await killed.initialize()
        killed.send(execution(1, "desk", "hang"))
        await eventually(lambda: scripted.received("tools/call"))
        killed.signal(signal.SIGKILL)

        await killed.ended()  # the engine has let go of its pipes
        assert (await staying.execute(1, "desk", "echo", text="y"))["content"][0]["text"] == "y"


@pytest.mark.parametrize("mode", MODES)
async def test_a_session_goes_on_after_its_engine_was_killed(shared: SharedWorkshop, mode: str):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})

    async with shared.client(mode) as client:
        assert await run(client, "desk", "echo", text="before") == "before"
        first = shared.engine()
        os.kill(first, signal.SIGKILL)

        assert await run(client, "desk", "echo", text="after") == "after"
        assert shared.engine() != first


async def test_what_ran_in_a_killed_engine_is_told_to_have_an_unknown_outcome(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})

    async with shared.lines() as client:
        await client.initialize()
        client.send(execution(7, "desk", "wait"))
        await eventually(lambda: scripted.received("tools/call"))
        os.kill(shared.engine(), signal.SIGKILL)

        answer = await client.answer(7)
        assert line_failure(answer["result"])["code"] == "OUTCOME_UNKNOWN"
        assert len(scripted.received("tools/call")) == 1
        assert (await client.execute(8, "desk", "echo", text="on"))["content"][0]["text"] == "on"


async def test_no_server_outlives_a_killed_engine(shared: SharedWorkshop):
    shared.configure({"desk": shared.scripted("desk")})
    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "desk", "echo", text="x")
        (server,) = shared.children("desk")
        os.kill(shared.engine(), signal.SIGKILL)

        await eventually(lambda: server not in shared.children("desk"))
        await eventually(shared.engines)  # the client has found another one


async def test_an_engine_that_is_asked_to_end_ends_its_clients_with_it(shared: SharedWorkshop):
    shared.configure({"desk": shared.scripted("desk")})
    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "desk", "echo", text="x")

        shared.end_engines()

        assert await client.ended() == 0
        assert not shared.children("desk")


async def test_an_engine_that_is_asked_to_end_while_it_starts_leaves_no_socket(shared: SharedWorkshop):
    place = shared.place
    place.make_folder()
    command = (sys.executable, "-m", "toolcrib.connector.engine_main", place.folder, place.house, place.name)
    process = await asyncio.create_subprocess_exec(*command, env=shared.environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == READY  # it listens, and has nearly everything still to load
    process.send_signal(signal.SIGTERM)

    await asyncio.wait_for(process.wait(), BOUND_SECONDS)
    assert not Path(place.socket).exists()


async def test_an_engine_without_clients_ends_after_a_while(shared: SharedWorkshop):
    shared.configure({"desk": shared.scripted("desk")}, engine={"idleStop": 0.2})
    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "desk", "echo", text="x")
        assert shared.engines()
        await client.leave()

    await eventually(lambda: not shared.engines() and not shared.upstreams())


async def test_with_engine_false_each_client_has_a_gateway_of_its_own(shared: SharedWorkshop):
    shared.config.write_text('{"discovery": {"engine": false}}')
    async with shared.lines() as client:
        assert (await client.initialize())["result"]["serverInfo"]["name"] == "toolcrib"
        await client.leave()

    assert "engine is false" in shared.complaints


async def test_a_client_that_does_not_read_its_pipe_delays_nobody(shared: SharedWorkshop, everything_server: Launch):
    shared.configure({"desk": shared.scripted("desk")})
    async with shared.lines() as deaf, shared.lines() as other:
        await other.initialize()
        deaf.process._transport.get_pipe_transport(1).pause_reading()
        deaf.send(*({"id": n, "method": "tools/list", "params": {}} for n in range(5000)))
        for n in range(20):
            assert (await other.execute(n, "desk", "echo", text="y"))["content"][0]["text"] == "y"
        deaf.process._transport.get_pipe_transport(1).resume_reading()
