"""`toolcrib serve --http` as the engine: clients on pipes share it before, while and after it runs."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.host.engine_over_http import EngineOverHttp, is_served
from tests.host.shared_engine import SharedWorkshop
from tests.host.test_commands import command
from tests.journeys.http_gateway import MODES as HTTP_MODES
from tests.journeys.http_gateway import RunningGateway, command_line, connect, gateway_process
from tests.journeys.stdio_gateway import BOUND_SECONDS, MODES, LineClient, eventually, run
from toolcrib.cli import exits

ALONE = "this gateway serves HTTP alone"


@asynccontextmanager
async def foreground(shared: SharedWorkshop, *options: str, name: str = "http") -> AsyncIterator[RunningGateway]:
    """`toolcrib serve --http` with the configuration of this home."""
    folder = shared.folder / name
    folder.mkdir()
    process = gateway_process(folder, shared.config, shared.environment, *options, home=shared.home)
    running = await asyncio.to_thread(process.__enter__)
    try:
        yield running
    finally:
        await asyncio.to_thread(process.__exit__, None, None, None)


async def echoed(client: LineClient, id: int, text: str) -> str:
    return (await client.execute(id, "desk", "echo", text=text))["content"][0]["text"]


@pytest.mark.parametrize(("mode", "http_mode"), list(zip(MODES, HTTP_MODES, strict=True)))
async def test_clients_on_pipes_share_the_gateway_that_serves_http(shared: SharedWorkshop, mode: str, http_mode: str):
    scripted = shared.scripted("desk", share="always")
    shared.configure({"desk": scripted})

    async with foreground(shared) as gateway:
        async with connect(gateway, http_mode) as over_http, shared.client(mode) as client:
            assert await run(over_http, "desk", "echo", text="by HTTP") == "by HTTP"
            assert await run(client, "desk", "echo", text="by pipe") == "by pipe"
            ran = await command(shared, "execute", "desk", "echo", "text=by command", "--json")

            assert ran.json == {"success": True, "result": "by command"}
            assert shared.engine() == gateway.process.pid
            assert len(scripted.starts) == 1
        assert "shares this gateway" in gateway.stdout
        assert await asyncio.to_thread(gateway.stop) == exits.OK
        assert gateway.stderr == ""


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_goes_on_before_while_and_after_it_runs(shared: SharedWorkshop, mode: str):
    shared.configure({"desk": shared.scripted("desk", share="always")})

    async with shared.client(mode) as client:
        assert await run(client, "desk", "echo", text="before") == "before"
        background = shared.engine()
        async with foreground(shared) as gateway:
            assert shared.engine() == gateway.process.pid
            assert await run(client, "desk", "echo", text="while") == "while"
            await eventually(lambda: background not in shared.processes())  # it has made way and ended
            gateway.process.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(gateway.process.wait, BOUND_SECONDS) == exits.OK
        assert await run(client, "desk", "echo", text="after") == "after"

        assert shared.engine() not in (background, gateway.process.pid)
        assert len(shared.children("desk")) == 1
    assert not shared.complaints


async def test_calls_of_both_kinds_of_clients_are_answered_before_it_ends(shared: SharedWorkshop):
    front, back = shared.scripted("front"), shared.scripted("back")
    shared.configure({"front": front, "back": back}, shutdownGrace=10)

    async with foreground(shared) as gateway, shared.lines() as client:
        await client.initialize()
        async with connect(gateway, "auto") as over_http:
            await over_http.list_tools()  # or the client would ask for it after the call
            by_http = asyncio.create_task(run(over_http, "front", "wait"))
            by_pipe = asyncio.create_task(client.execute(1, "back", "wait"))
            await eventually(lambda: front.received("tools/call") and back.received("tools/call"))
            gateway.process.send_signal(signal.SIGTERM)
            await eventually(lambda: not is_served(gateway.url))
            front.let_go()
            back.let_go()

            assert await by_http == "waited"
            assert (await by_pipe)["content"][0]["text"] == "waited"
        assert await asyncio.to_thread(gateway.process.wait, BOUND_SECONDS) == exits.OK


async def test_a_second_one_leaves_the_first_alone_and_says_that_it_is_alone(shared: SharedWorkshop):
    shared.configure({"desk": shared.scripted("desk", share="always")})

    async with foreground(shared) as first, foreground(shared, name="second") as second:
        assert ALONE in second.stderr
        assert "another `toolcrib serve --http`" in second.stderr
        assert "shares this gateway" not in second.stdout
        assert shared.engine() == first.process.pid
        for gateway in (first, second):
            async with connect(gateway, "auto") as over_http:
                assert await run(over_http, "desk", "echo", text="x") == "x"


async def test_an_engine_that_does_not_answer_is_told_and_http_is_served_all_the_same(shared: SharedWorkshop):
    shared.configure({"desk": shared.scripted("desk", share="always")})

    async with shared.lines() as client:
        await client.initialize()
        await echoed(client, 1, "x")
        background = shared.engine()
        os.kill(background, signal.SIGSTOP)
        try:
            async with foreground(shared) as gateway:
                assert ALONE in gateway.stderr
                assert shared.engine() == background
                async with connect(gateway, "auto") as over_http:
                    assert await run(over_http, "desk", "echo", text="x") == "x"
        finally:
            os.kill(background, signal.SIGCONT)
        assert await echoed(client, 2, "y") == "y"


async def test_it_takes_the_address_over_from_the_engine_in_the_background(shared: SharedWorkshop):
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    shared.configure({}, engine={"http": True}, http={"port": port})
    background = EngineOverHttp(shared)

    async with shared.lines() as client:
        await client.initialize()
        await eventually(lambda: background.url)
        async with foreground(shared, "--port", str(port)) as gateway:
            assert gateway.url == f"http://127.0.0.1:{port}/mcp"
            assert shared.engine() == gateway.process.pid
            async with connect(gateway, "auto") as over_http:
                assert len((await over_http.list_tools()).tools) == 5
        await eventually(lambda: is_served(gateway.url))  # by the engine that the client has started since
        assert shared.engine() != gateway.process.pid


async def test_a_port_that_is_taken_leaves_the_engine_and_its_clients_where_they_are(shared: SharedWorkshop):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted})

    async with shared.lines() as client:
        await client.initialize()
        await echoed(client, 1, "x")
        background = shared.engine()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            ended = await _ended(shared, "--port", str(taken.getsockname()[1]))

        assert (ended.returncode, "Address already in use" in ended.stderr) == (exits.CONFIGURATION, True)
        assert shared.engine() == background
        assert await echoed(client, 2, "y") == "y"
        assert len(scripted.starts) == 1


async def _ended(shared: SharedWorkshop, *options: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        command_line(shared.config, *options),
        env=shared.environment,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("how", ["--in-process", "engine: false", "a folder of others"])
async def test_it_serves_http_alone_where_it_should_not_be_the_engine(shared: SharedWorkshop, how: str):
    shared.configure({}, **({"engine": False} if how == "engine: false" else {}))
    if how == "a folder of others":
        Path(shared.place.folder).mkdir(mode=0o777)
        Path(shared.place.folder).chmod(0o777)

    async with foreground(shared, *(["--in-process"] if how == "--in-process" else [])) as gateway:
        async with connect(gateway, "auto") as over_http:
            assert len((await over_http.list_tools()).tools) == 5
        assert not shared.engines()
        assert "shares this gateway" not in gateway.stdout
        assert (ALONE in gateway.stderr) == (how == "a folder of others")


async def test_the_demo_is_shared_with_a_client_that_is_started_as_the_greeting_says(shared: SharedWorkshop):
    shared.configure({})

    async with foreground(shared, "--demo") as gateway, shared.lines(*shared.command, "--demo") as client:
        await client.initialize()
        told = await client.execute(1, "clock", "current_time", timezone="Asia/Tokyo")

        assert not told.get("isError")
        assert shared.engine() == gateway.process.pid


async def test_sighup_has_it_read_the_configuration_again(shared: SharedWorkshop):
    shared.configure({}, reloadInterval=3600)

    async with foreground(shared) as gateway, connect(gateway, "auto") as over_http:
        assert "desk" not in str((await over_http.call_tool("list_mcp_servers", {})).content)
        shared.configure({"desk": shared.scripted("desk")}, reloadInterval=3600, maxHttpBodyBytes=1000)
        gateway.process.send_signal(signal.SIGHUP)
        headers = {"Authorization": f"Bearer {gateway.token}"}

        def refused() -> bool:
            answer = httpx2.post(gateway.url, headers=headers, json={"text": "x" * 2000})
            return answer.status_code == httpx2.codes.CONTENT_TOO_LARGE

        await eventually(refused)
        assert "desk" in str((await over_http.call_tool("list_mcp_servers", {})).content)


async def test_it_stays_when_an_engine_of_another_version_comes(shared: SharedWorkshop):
    shared.configure({})

    async with foreground(shared) as gateway:
        assert shared.tell_engine("retire") == "1"
        async with connect(gateway, "auto") as over_http:
            assert len((await over_http.list_tools()).tools) == 5
        assert shared.engine() == gateway.process.pid
