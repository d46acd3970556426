"""A gateway that stops: what clients hear whose calls still run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from tests.journeys.http_gateway import connect, write_config
from tests.server.http_face import TOKEN, Bare, messages_of
from tests.server.slow_upstream import SlowServer
from tests.server.test_resumed_streams import broken_off, call, headers_of, resumed
from tests.upstream.http_servers import Script, serve
from toolcrib import open_gateway
from toolcrib.server.embedded import MCPDiscoveryServer
from toolcrib.server.http import build_app, serve_http

BOUND_SECONDS = 10.0


class Stoppable:
    """A gateway over HTTP that can be told to stop, with a slow server behind it."""

    def __init__(self, face: Bare, slow: SlowServer, stop: Callable[[], Awaitable[None]]) -> None:
        self.face = face
        self.slow = slow
        self.stop = stop
        self.url = face.url
        self.token = TOKEN


@asynccontextmanager
async def stoppable(folder: Path, grace_seconds: float) -> AsyncIterator[Stoppable]:
    slow, stop, port = SlowServer(), asyncio.Event(), asyncio.get_running_loop().create_future()
    async with serve(Script(slow)) as far, open_gateway(write_config(folder, {"far": {"url": far}})) as gateway:
        server = MCPDiscoveryServer(gateway).sdk_server
        app = build_app(server, lambda: gateway.settings, host="127.0.0.1", token=TOKEN)
        serving = asyncio.create_task(
            serve_http(
                app, host="127.0.0.1", port=0, stop=stop, grace_seconds=lambda: grace_seconds, on_ready=port.set_result
            )
        )

        async def end() -> None:
            stop.set()
            async with asyncio.timeout(BOUND_SECONDS):
                await serving

        async with httpx2.AsyncClient(timeout=BOUND_SECONDS) as http:
            yield Stoppable(Bare(http, f"http://127.0.0.1:{await port}/mcp"), slow, end)
            await end()


async def test_a_stopping_gateway_answers_old_streams(tmp_path: Path) -> None:
    async with stoppable(tmp_path, 0.05) as gateway:
        client = await gateway.face.open("legacy")
        calling = asyncio.create_task(client.post(call(id=17)))
        await gateway.slow.is_waiting.wait()
        await gateway.stop()
        *_, last = messages_of(await calling)
        assert (last["id"], last["error"]["code"]) == (17, -32000)
        assert "Outcome unknown" in last["error"]["message"]


async def test_a_stream_that_was_taken_up_again_is_answered_too(tmp_path: Path) -> None:
    async with stoppable(tmp_path, 0.05) as gateway:
        client = await gateway.face.open("legacy")
        event = await broken_off(client, call())
        resuming = asyncio.create_task(resumed(client, event.id))
        await until_listening(client, event.id)
        await gateway.stop()
        (last,) = await resuming
        assert (last.message["id"], last.message["error"]["code"]) == (1, -32000)


async def until_listening(client: Bare, event_id: str) -> None:
    """Wait until a second one that takes up the same stream has begun to listen, which the first one has by then."""
    headers = headers_of(client, **{"last-event-id": event_id})
    async with client.http.stream("GET", client.url, headers=headers) as response:
        assert response.status_code == 200


async def test_a_call_of_an_old_client_that_ends_within_the_grace_has_its_own_answer(tmp_path: Path) -> None:
    async with stoppable(tmp_path, BOUND_SECONDS) as gateway:
        client = await gateway.face.open("legacy")
        calling = asyncio.create_task(client.post(call()))
        await gateway.slow.is_waiting.wait()
        async with client.http.stream("GET", client.url, headers=headers_of(client)) as listening:
            stopping = asyncio.create_task(gateway.stop())
            await listening.aread()  # it has begun to stop: streams that only listen end first
        gateway.slow.go.set()
        *_, last = messages_of(await calling)
        await stopping
        assert json.loads(last["result"]["content"][0]["text"])["success"] is True


async def test_a_stream_of_the_newest_revision_just_ends(tmp_path: Path) -> None:
    async with stoppable(tmp_path, 0.05) as gateway:
        client = await gateway.face.open("modern")
        calling = asyncio.create_task(client.execute("far", "slow", {}, progressToken="ours"))
        await gateway.slow.is_waiting.wait()
        await gateway.stop()
        assert [message["method"] for message in await calling] == ["notifications/progress"]


async def test_the_official_client_raises_what_it_was_told(tmp_path: Path) -> None:
    async with stoppable(tmp_path, 0.05) as gateway, connect(gateway, "legacy") as client:
        calling = asyncio.create_task(client.call_tool("execute_tool", arguments()))
        await gateway.slow.is_waiting.wait()
        await gateway.stop()
        with pytest.raises(MCPError) as told:
            await calling
        assert "the gateway is stopping" in told.value.error.message


def arguments() -> dict[str, Any]:
    return {"server": "far", "tool": "slow", "arguments": {}}
