"""External endpoints of a Praxis file, read and called by a gateway."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeServer, FakeServers, eventually, tool
from tests.upstream.http_servers import Out, Script, SdkServer, Seen, serve
from toolcrib import Gateway, Settings, load_settings, open_gateway
from toolcrib.errors import ServerConnectionError
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND


def praxis(tmp_path: Path, url: str = "http://localhost:3000/mcp", more: str = "") -> Settings:
    agent = tmp_path / "agent.yaml"
    agent.write_text(f"agent:\n  name: a\n  external_mcp_endpoints: ['{url}']\n{more}", "utf-8")
    own = tmp_path / "toolcrib.yaml"
    own.write_text(f"discovery:\n  sources:\n    - {{type: praxis, path: '{agent}'}}\n", "utf-8")
    return load_settings(own)


async def test_endpoints_are_read_as_soon_as_the_gateway_starts(tmp_path: Path) -> None:
    endpoint = FakeServer("localhost-3000", [tool("echo")])
    async with asyncio.timeout(20), open_gateway(settings=praxis(tmp_path), opener=FakeServers(endpoint)):
        await eventually(lambda: endpoint.count("tools/list"))

    assert (endpoint.starts, endpoint.count("tools/list")) == (1, 1)


async def test_endpoints_of_an_agent_without_mcp_are_left_alone(tmp_path: Path) -> None:
    endpoint = FakeServer("localhost-3000", [tool("echo")])
    settings = praxis(tmp_path, more="mcp: {enabled: false}\n")
    async with open_gateway(settings=settings, opener=FakeServers(endpoint)) as gateway:
        assert await gateway.list_servers() == []
        assert await gateway.list_tools("localhost-3000") == []
    assert endpoint.starts == 0


async def tools_of_the_only_server(gateway: Gateway) -> list[str]:
    (server,) = await gateway.list_servers()
    return [found.name for found in await gateway.list_tools(server.name)]


async def test_what_an_endpoint_offered_is_known_to_the_next_start(tmp_path: Path) -> None:
    settings = praxis(tmp_path)
    endpoint = FakeServer("localhost-3000", [tool("echo"), {"description": "no name"}])
    async with open_gateway(settings=settings, opener=FakeServers(endpoint)) as gateway:
        assert await tools_of_the_only_server(gateway) == ["echo_external"]
    async with open_gateway(settings=settings, opener=FakeServers()) as gateway:
        assert await tools_of_the_only_server(gateway) == ["echo_external"]


RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": [tool("echo")]},
    "tools/call": {"content": [{"type": "text", "text": "on a stream"}]},
}


def answer_to(seen: Seen) -> bytes:
    result = RESULTS.get(seen.rpc)
    return seen.answer(result) if result else seen.error(METHOD_NOT_FOUND, "not here")


async def on_a_stream(seen: Seen, out: Out) -> None:
    """Answers each request on an event stream of its own."""
    if "id" not in seen.message:
        await out.send(202)
        return
    await out.start()
    await out.event(answer_to(seen))
    await out.end()


class OneStream:
    """Answers all requests on one event stream; the SDK's server of this kind leaves things open when it is killed."""

    def __init__(self) -> None:
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()

    async def __call__(self, seen: Seen, out: Out) -> None:
        if seen.method == "POST":
            if "id" in seen.message:
                self._answers.put_nowait(answer_to(seen))
            await out.send(202)
            return
        await out.start()
        await out.event(b"/messages", name="endpoint")
        while True:
            await out.event(await self._answers.get(), name="message")


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_endpoints_are_probed_over_event_streams_of_both_kinds(path: str, tmp_path: Path) -> None:
    """At `/mcp` there is a stream for each request, at `/sse` one for all of them."""
    app = Script(on_a_stream) if path == "/mcp" else SdkServer().sse_app()
    async with asyncio.timeout(20), serve(app) as url, open_gateway(settings=praxis(tmp_path, url + path)) as gateway:
        assert "echo_external" in await tools_of_the_only_server(gateway)
        (server,) = await gateway.list_servers()
        done = await gateway.execute_tool(server.name, "echo_external", {"a": 1})

    assert done.value == ("on a stream" if path == "/mcp" else {"a": 1})
    if isinstance(app, Script):
        assert all("text/event-stream" in seen.headers["accept"] for seen in app.seen if seen.method == "POST")


async def test_an_endpoint_that_comes_later_is_found_at_the_next_call(tmp_path: Path) -> None:
    async def refuse() -> None:
        raise ServerConnectionError("not yet", server="localhost-3000")

    endpoint = FakeServer("localhost-3000", [tool("echo")], on_open=refuse)
    async with open_gateway(settings=praxis(tmp_path), opener=FakeServers(endpoint)) as gateway:
        assert len(await tools_of_the_only_server(gateway)) == 4
        endpoint.on_open = None
        assert (await gateway.execute_tool("localhost-3000", "echo_external", {})).success


async def until_it_is(state: str, gateway: Gateway) -> None:
    async with asyncio.timeout(20):
        while True:
            (server,) = await gateway.list_servers()
            if server.status.state == state:
                return
            await asyncio.sleep(0.02)


def app_at(path: str) -> Any:
    return SdkServer().streamable_app() if path == "/mcp" else Script(OneStream())


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_an_endpoint_that_was_restarted_is_connected_again_before_the_next_call(
    path: str, tmp_path: Path
) -> None:
    async with asyncio.timeout(40), AsyncExitStack() as running:
        url = await running.enter_async_context(serve(app_at(path)))
        async with open_gateway(settings=praxis(tmp_path, url + path)) as gateway:
            name = (await gateway.list_servers())[0].name
            assert (await gateway.execute_tool(name, "echo_external", {})).success
            await running.aclose()
            # Nothing tells of an HTTP endpoint that left, but that a call does not reach it.
            assert not (await gateway.execute_tool(name, "echo_external", {})).success
            await until_it_is("error", gateway)
            async with serve(app_at(path), port=int(url.rpartition(":")[2])):
                await until_it_is("connected", gateway)
                assert (await gateway.execute_tool(name, "echo_external", {})).success
