"""`engine.http: true`: the engine that clients on pipes share serves HTTP as well."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.host.engine_over_http import EngineOverHttp, is_served
from tests.host.shared_engine import SharedWorkshop
from tests.journeys.http_gateway import MODES as HTTP_MODES
from tests.journeys.http_gateway import connect
from tests.journeys.stdio_gateway import MODES, ask, eventually, execute, failure, run

FREE_PORT = {"port": 0}
SOON = {"reloadInterval": 0.05}


@pytest.mark.parametrize(("mode", "http_mode"), list(zip(MODES, HTTP_MODES, strict=True)))
async def test_clients_over_http_and_on_pipes_share_one_engine_and_one_process_of_a_server(
    shared: SharedWorkshop, mode: str, http_mode: str
):
    shared.configure({"desk": shared.scripted("desk", share="always")}, engine={"http": True}, http=FREE_PORT)
    engine = EngineOverHttp(shared)

    async with shared.client(mode) as client:
        await eventually(lambda: engine.url)
        async with connect(engine, http_mode) as over_http:
            assert await run(client, "desk", "echo", text="by pipe") == "by pipe"
            assert await run(over_http, "desk", "echo", text="by HTTP") == "by HTTP"

            assert len(shared.engines()) == 1
            assert len(shared.children("desk")) == 1


async def test_an_edit_lets_it_listen_and_another_one_ends_that(shared: SharedWorkshop):
    scripted = shared.scripted("desk", share="always")
    shared.configure({"desk": scripted}, http=FREE_PORT, **SOON)
    engine = EngineOverHttp(shared)

    async with shared.lines() as client:
        await client.initialize()
        await client.execute(1, "desk", "echo", text="x")
        assert not engine.url
        assert not _has_sdk(shared.engine())

        shared.configure({"desk": scripted}, engine={"http": True}, http=FREE_PORT, **SOON)
        url = await eventually(lambda: engine.url)
        async with connect(engine, "auto") as over_http:
            assert await run(over_http, "desk", "echo", text="y") == "y"

        shared.configure({"desk": scripted}, http=FREE_PORT, **SOON)
        await eventually(lambda: not engine.url)
        assert not is_served(url)
        assert (await client.execute(2, "desk", "echo", text="z"))["content"][0]["text"] == "z"
        assert len(scripted.starts) == 1


def _has_sdk(pid: int) -> bool:
    """Whether a process has mapped the code that only the SDK needs."""
    return "pydantic_core" in Path(f"/proc/{pid}/maps").read_text()


async def test_an_edited_address_is_used_at_once(shared: SharedWorkshop):
    shared.configure({}, engine={"http": True}, http=FREE_PORT, **SOON)
    engine = EngineOverHttp(shared)

    async with shared.lines() as client:
        await client.initialize()
        first = await eventually(lambda: engine.url)
        shared.configure({}, engine={"http": True}, http={**FREE_PORT, "path": "/tools"}, **SOON)

        await eventually(lambda: engine.url.endswith("/tools"))
        assert not is_served(first)


async def test_while_it_listens_it_does_not_end_for_lack_of_clients(shared: SharedWorkshop):
    listening = {"http": True, "idleStop": 0.1}
    shared.configure({}, engine=listening | {"idleStop": 60}, http=FREE_PORT, **SOON)
    engine = EngineOverHttp(shared)
    async with shared.lines() as client:
        await client.initialize()
        await eventually(lambda: engine.url)
        shared.configure({}, engine=listening, http=FREE_PORT, **SOON)
        await client.leave()

    async with connect(engine, "auto") as over_http:
        assert len((await over_http.list_tools()).tools) == 5
    assert shared.engines()

    shared.configure({}, engine=listening | {"http": False}, http=FREE_PORT, **SOON)
    await eventually(lambda: not shared.engines())
    assert "no client came" in shared.log.read_text()


async def test_a_port_that_is_taken_is_told_in_the_log_and_tried_again(shared: SharedWorkshop):
    scripted = shared.scripted("desk", share="always")
    engine = EngineOverHttp(shared)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        shared.configure({"desk": scripted}, engine={"http": True}, http={"port": port})
        async with shared.lines() as client:
            await client.initialize()
            await eventually(lambda: "Address already in use" in shared.log.read_text())
            assert f"port {port}" in shared.log.read_text()
            assert (await client.execute(1, "desk", "echo", text="x"))["content"][0]["text"] == "x"

            taken.close()
            assert await eventually(lambda: engine.url) == f"http://127.0.0.1:{port}/mcp"
            assert shared.log.read_text().count("Address already in use") == 1


async def test_an_engine_that_ends_answers_a_call_over_http_first(shared: SharedWorkshop):
    scripted = shared.scripted("desk", share="always")
    shared.configure({"desk": scripted}, engine={"http": True}, http=FREE_PORT)
    engine = EngineOverHttp(shared)
    async with shared.lines() as client:
        await client.initialize()
        await eventually(lambda: engine.url)
        async with connect(engine, "auto") as over_http:
            await over_http.list_tools()  # or the client would ask for it after the call
            call = asyncio.create_task(run(over_http, "desk", "wait"))
            await eventually(lambda: scripted.received("tools/call"))
            os.kill(shared.engine(), signal.SIGTERM)
            await eventually(lambda: not is_served(engine.url))  # it takes nothing new
            scripted.let_go()

            assert await call == "waited"
    await eventually(lambda: not shared.processes())


async def test_a_client_over_http_sees_nothing_of_a_configuration_that_only_a_client_on_pipes_named(
    shared: SharedWorkshop,
):
    shared.configure({"desk": shared.scripted("desk")}, engine={"http": True}, http=FREE_PORT)
    engine = EngineOverHttp(shared)
    project = shared.folder / "project.json"
    project.write_text(json.dumps({"discovery": {"servers": {"vault": shared.scripted("vault").entry()}}}))

    async with shared.lines(sys.executable, "-m", "toolcrib", "--config", str(project), "serve") as client:
        await client.initialize()
        assert (await client.execute(1, "vault", "echo", text="x"))["content"][0]["text"] == "x"
        await eventually(lambda: engine.url)
        async with connect(engine, "auto") as over_http:
            listed = await ask(over_http, "list_mcp_servers")
            refused = failure(await execute(over_http, "vault", "echo", text="y"))

        assert [server["name"] for server in listed["servers"]] == ["desk"]
        assert refused["code"] == "SERVER_NOT_FOUND"
        assert len(shared.engines()) == 1


async def test_a_configuration_that_a_client_names_does_not_make_the_engine_listen(shared: SharedWorkshop):
    shared.configure({}, **SOON)
    project = shared.folder / "project.json"
    project.write_text(json.dumps({"discovery": {"engine": {"http": True}, "http": FREE_PORT}}))

    async with shared.lines(sys.executable, "-m", "toolcrib", "--config", str(project), "serve") as client:
        await client.initialize()
        await client.call(1, "list_mcp_servers")
        shared.configure({}, engine={"http": True}, http=FREE_PORT | {"path": "/own"}, **SOON)
        url = await eventually(lambda: EngineOverHttp(shared).url)

        assert url.endswith("/own")
        assert shared.log.read_text().count("are served at") == 1


async def test_an_engine_that_is_replaced_leaves_its_address_to_the_next_and_serves_its_clients_on(
    shared: SharedWorkshop,
):
    scripted = shared.scripted("desk")
    shared.configure({"desk": scripted}, engine={"http": True}, http=FREE_PORT)
    engine = EngineOverHttp(shared)

    async with shared.lines() as client:
        await client.initialize()
        url = await eventually(lambda: engine.url)
        assert shared.tell_engine("retire") == "0"

        await eventually(lambda: not engine.url)
        assert not is_served(url)
        assert (await client.execute(1, "desk", "echo", text="x"))["content"][0]["text"] == "x"
        await client.leave()
    await eventually(lambda: not shared.engines())
