from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import BOUND_SECONDS, Scripted, eventually
from tests.servers.launch import Launch
from toolcrib.cli import exits


class Ran:
    """A command that has ended."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out.decode()
        self.err = err.decode()

    @property
    def json(self) -> object:
        return json.loads(self.out)


async def command(shared: SharedWorkshop, *words: str, stdin: bytes = b"", **more: object) -> Ran:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolcrib", *words, "--config", str(shared.config)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **{"env": shared.environment, **more},
    )
    async with asyncio.timeout(BOUND_SECONDS):
        out, err = await process.communicate(stdin)
    assert process.returncode is not None
    return Ran(process.returncode, out, err)


@asynccontextmanager
async def used(shared: SharedWorkshop) -> AsyncIterator[Scripted]:
    """A server that a client of the engine has called already."""
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})
    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "desk", "echo", text="x")
        yield scripted


async def test_execute_uses_the_server_that_the_engine_has_running(shared: SharedWorkshop):
    async with used(shared) as scripted:
        ran = await command(shared, "execute", "desk", "echo", "text=hello", "--json")

        assert (ran.code, ran.json) == (exits.OK, {"success": True, "result": "hello"})
        assert len(scripted.starts) == 1


async def test_a_yes_from_inside_of_a_server_is_none_though_the_engine_would_run_it(shared: SharedWorkshop):
    async with used(shared):
        inside = {**shared.environment, "TOOLCRIB_INSIDE": "1"}
        ran = await command(shared, "execute", "desk", "echo", "text=x", "--yes", env=inside)
        allowed = await command(shared, "execute", "desk", "echo", "text=x", env=inside)

        assert (ran.code != exits.OK, "not from a person" in ran.err) == (True, True)
        assert allowed.code == exits.OK


async def test_arguments_come_from_standard_input_and_from_files_of_the_client_s_folder(shared: SharedWorkshop):
    async with used(shared):
        (shared.folder / "given.json").write_text('{"text": "from a file"}')

        piped = await command(shared, "execute", "desk", "echo", "--args", "-", stdin=b'{"text": "from a pipe"}')
        filed = await command(shared, "execute", "desk", "echo", "--args", "@given.json", cwd=shared.folder)

        assert "from a pipe" in piped.out
        assert "from a file" in filed.out


async def test_a_failure_in_the_engine_has_the_exit_code_and_the_words_of_any_other(shared: SharedWorkshop):
    async with used(shared):
        missing = await command(shared, "execute", "desk", "nothing")

    alone = await command(shared, "execute", "desk", "nothing")
    assert (missing.code, missing.out, missing.err) == (alone.code, alone.out, alone.err)
    assert missing.code == exits.NOT_FOUND


async def test_looks_at_the_catalog_are_answered_alike_with_and_without_an_engine(shared: SharedWorkshop):
    looks = (("search", "repeat", "--json"), ("tools", "desk"), ("inspect", "desk", "echo"))
    async with used(shared):
        # What the tool returns is learnt in the background, after the client has its answer.
        async with asyncio.timeout(20):
            while "learnt" not in (await command(shared, *looks[-1])).out:
                pass
        with_engine = [await command(shared, *look) for look in looks]
    shared.end_engines()
    without = [await command(shared, *look) for look in looks]

    assert [(one.code, one.out) for one in with_engine] == [(one.code, one.out) for one in without]


async def test_list_shows_which_clients_use_a_server(shared: SharedWorkshop):
    async with used(shared):
        ran = await command(shared, "list")

        assert "connected" in ran.out
        assert "lines" in ran.out


async def test_warm_and_discover_use_the_server_that_runs(shared: SharedWorkshop):
    async with used(shared) as scripted:
        for words in (("warm", "--json"), ("discover", "--json")):
            ran = await command(shared, *words)
            assert ran.code == exits.OK, (ran.out, ran.err)
            assert "desk" in ran.out
        assert len(scripted.starts) == 1


async def test_doctor_tries_the_server_that_runs(shared: SharedWorkshop, time_server: Launch):
    shared.configure({"clock": time_server})
    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "clock", "get_current_time", timezone="UTC")
        (running,) = shared.children("clock")

        assert (await command(shared, "doctor")).code == exits.OK
        assert shared.children("clock") == {running}


async def test_a_command_that_is_interrupted_ends_and_its_call_with_it(shared: SharedWorkshop):
    async with used(shared) as scripted:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "toolcrib", "execute", "desk", "hang", "--config", str(shared.config)),
            env=shared.environment,
            stdout=subprocess.DEVNULL,
        )
        await eventually(lambda: len(scripted.received("tools/call")) == 2)
        process.send_signal(2)

        assert await asyncio.wait_for(process.wait(), BOUND_SECONDS) == exits.INTERRUPTED
        await eventually(lambda: scripted.received("notifications/cancelled"))


async def test_a_command_does_not_start_an_engine(shared: SharedWorkshop):
    shared.configure({"desk": shared.scripted("desk")})

    assert (await command(shared, "execute", "desk", "echo", "text=hello")).code == exits.OK

    assert not shared.engines()


async def test_a_reader_that_goes_away_harms_nobody(shared: SharedWorkshop):
    async with used(shared):
        reading, writing = os.pipe()
        os.close(reading)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "toolcrib", "tools", "desk", "--config", str(shared.config)),
            env=shared.environment,
            stdout=writing,
        )
        os.close(writing)

        assert await asyncio.wait_for(process.wait(), BOUND_SECONDS) == exits.PIPE_CLOSED
        assert (await command(shared, "tools", "desk")).code == exits.OK


async def test_a_command_that_the_engine_answers_at_once_is_answered_once(shared: SharedWorkshop):
    async with used(shared):
        for _ in range(5):
            ran = await asyncio.gather(*(command(shared, "tools", "desk") for _ in range(4)))
            assert [one.out.count("Tools from desk") for one in ran] == [1] * 4
