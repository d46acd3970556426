from __future__ import annotations

import ast
import asyncio
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import BOUND_SECONDS, HELLO, MODES, ask, eventually, execution, line_failure, run
from tests.servers.launch import Launch
from toolcrib.cli import exits
from toolcrib.connector.main import is_stdio_server


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
        await eventually(lambda: not shared.children("desk"))


async def test_an_engine_that_is_asked_to_end_lets_running_calls_end_first(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted}, shutdownGrace=20)
    async with shared.lines() as client:
        await client.initialize()
        client.send(execution(1, "desk", "wait"))
        await eventually(lambda: scripted.received("tools/call"))
        os.kill(shared.engine(), signal.SIGTERM)
        scripted.let_go()

        assert not (await client.answer(1))["result"].get("isError")
        assert await client.ended() == 0


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


async def test_a_client_that_gives_files_instead_of_pipes_has_a_gateway_of_its_own(shared: SharedWorkshop):
    shared.configure({})
    asked, answered = shared.folder / "asked.jsonl", shared.folder / "answered.jsonl"
    asked.write_text("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in HELLO))
    with asked.open("rb") as stdin, answered.open("wb") as stdout, shared.stderr.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *shared.command, stdin=stdin, stdout=stdout, stderr=stderr, env=shared.environment
        )
        assert await asyncio.wait_for(process.wait(), BOUND_SECONDS) == 0

    assert json.loads(answered.read_text())["result"]["serverInfo"]["name"] == "toolcrib"
    assert "not both pipes" in shared.complaints
    assert not shared.engines()


async def test_a_terminated_connector_lets_running_calls_end_first(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted}, shutdownGrace=20)
    async with shared.lines() as client:
        await client.initialize()
        client.send(execution(1, "desk", "wait"))
        await eventually(lambda: scripted.received("tools/call"))
        client.signal(signal.SIGTERM)
        scripted.let_go()

        assert not (await client.answer(1))["result"].get("isError")
        assert await client.ended() == 0


async def test_a_signal_to_the_connector_reloads_the_configuration(shared: SharedWorkshop):
    shared.configure({}, reloadInterval=600)
    async with shared.lines() as client:
        await client.initialize()
        shared.configure({"desk": shared.scripted("desk")}, reloadInterval=600)
        client.signal(signal.SIGHUP)

        async with asyncio.timeout(BOUND_SECONDS):
            for number in itertools.count():
                if "desk" in str(await client.call(number, "list_mcp_servers")):
                    break


async def test_in_process_is_always_obeyed(shared: SharedWorkshop):
    shared.configure({})
    async with shared.lines(*shared.command, "--in-process") as client:
        await client.initialize()

        assert not shared.engines()


@pytest.mark.parametrize(
    ("arguments", "is_server"),
    [
        (["serve"], True),
        (["--config", "x.yaml", "serve"], True),
        (["serve", "--config=x.yaml", "-v", "--demo"], True),
        (["serve", "--http"], False),
        (["serve", "--in-process"], False),
        (["serve", "--help"], False),
        (["--version"], False),
        (["list"], False),
        (["serve", "list"], False),
        (["serve", "--config"], False),
    ],
)
def test_only_what_is_certainly_a_server_on_pipes_goes_to_the_engine(arguments: list[str], is_server: bool):
    assert is_stdio_server(arguments) is is_server


async def test_a_connector_loads_hardly_anything(shared: SharedWorkshop):
    shared.configure({})
    program = (
        "import sys; from toolcrib.connector.main import main; sys.argv[0] = 'toolcrib'; code = main();"
        "print(sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    shared.environment.pop("COVERAGE_PROCESS_CONFIG", None)  # what measures the tests loads much itself
    async with shared.lines() as first:
        await first.initialize()
        async with shared.lines(shared.command[0], "-c", program, *shared.command[3:]) as client:
            await client.initialize()
            assert await client.leave() == 0

    loaded = ast.literal_eval(shared.complaints.splitlines()[-1])
    ours = {name for name in loaded if name.startswith("toolcrib")}
    assert ours == {"toolcrib", "toolcrib.version"} | {
        f"toolcrib.connector{part}" for part in ("", ".hello", ".link", ".main", ".place", ".session", ".words")
    }
    assert not {"asyncio", "json", "pathlib", "subprocess", "logging", "msgspec", "dataclasses"} & set(loaded)


async def test_an_engine_that_is_ended_while_it_starts_leaves_no_socket_behind(shared: SharedWorkshop):
    shared.configure({})
    shared.place.make_folder()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolcrib.connector.engine_main", *(shared.place.folder, shared.place.house)),
        shared.place.name,
        stdout=subprocess.PIPE,
        env=shared.environment,
    )
    assert process.stdout is not None
    async with asyncio.timeout(BOUND_SECONDS):
        await process.stdout.readline()  # it listens, and has everything else still to load
        process.terminate()
        await process.wait()

    assert not Path(shared.place.socket).exists()
