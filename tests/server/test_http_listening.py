"""Listening and leaving: the socket, and what becomes of requests under way when the gateway stops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from toolcrib.errors import ConfigurationError
from toolcrib.server.http import serve_http

BOUND_SECONDS = 10.0


class Waiting:
    """An app whose answers wait: `/call` for `done`, `/stream` for ever after its first line."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.done = asyncio.Event()
        routes = [
            Route("/call", self._call, methods=["POST"]),
            Route("/stream", self._stream, methods=["GET", "POST"]),
            Route("/broken", self._broken),
        ]
        self.app = Starlette(routes=routes)

    async def _call(self, _: Request) -> Response:
        self.entered.set()
        await self.done.wait()
        return JSONResponse("done")

    async def _stream(self, _: Request) -> Response:
        return StreamingResponse(self._lines(), media_type="text/event-stream")

    async def _lines(self) -> AsyncIterator[bytes]:
        yield b": open\n\n"
        self.entered.set()
        await asyncio.Event().wait()

    async def _broken(self, _: Request) -> Response:
        raise RuntimeError("broken on purpose")


@asynccontextmanager
async def serving(
    app: Any, grace_seconds: float
) -> AsyncIterator[tuple[httpx2.AsyncClient, Callable[[], Awaitable[None]]]]:
    """A client of the served app, and what stops the serving and waits for its end."""
    stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
    serve = serve_http(
        app, host="127.0.0.1", port=0, stop=stop, grace_seconds=lambda: grace_seconds, on_ready=port.set_result
    )
    task = asyncio.create_task(serve)

    async def leave() -> None:
        stop.set()
        async with asyncio.timeout(BOUND_SECONDS):
            await task

    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{await port}", timeout=BOUND_SECONDS) as client:
        yield client, leave
        await leave()


async def test_a_call_that_ends_within_the_grace_is_answered() -> None:
    waiting = Waiting()
    async with serving(waiting.app, grace_seconds=BOUND_SECONDS) as (client, leave):
        streaming = asyncio.create_task(client.get("/stream"))
        await waiting.entered.wait()
        waiting.entered.clear()
        call = asyncio.create_task(client.post("/call"))
        await waiting.entered.wait()
        leaving = asyncio.create_task(leave())
        await streaming  # it has begun to leave: streams end first
        assert not call.done()
        waiting.done.set()
        assert (await call).json() == "done"
        await leaving


async def test_a_call_that_outlasts_the_grace_is_told_that_the_gateway_is_leaving() -> None:
    waiting = Waiting()
    async with serving(waiting.app, grace_seconds=0.05) as (client, leave):
        call = asyncio.create_task(client.post("/call"))
        await waiting.entered.wait()
        await leave()
        assert (await call).status_code == 503
        assert (await call).json() == {"error": "the gateway is shutting down"}


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_answer_already_begun_is_ended_properly(method: str) -> None:
    waiting = Waiting()
    async with serving(waiting.app, grace_seconds=0.05) as (client, leave):
        streaming = asyncio.create_task(client.request(method, "/stream"))
        await waiting.entered.wait()
        await leave()
        assert (await streaming).content == b": open\n\n"


async def test_a_stream_that_only_listens_does_not_use_up_the_grace() -> None:
    waiting = Waiting()
    async with serving(waiting.app, grace_seconds=3600) as (client, leave):
        streaming = asyncio.create_task(client.get("/stream"))
        await waiting.entered.wait()
        await leave()
        assert (await streaming).status_code == 200


async def test_an_app_that_fails_once_goes_on_serving() -> None:
    waiting = Waiting()
    waiting.done.set()
    async with serving(waiting.app, grace_seconds=1) as (client, _):
        assert (await client.get("/broken")).status_code == 500
        assert (await client.post("/call")).json() == "done"


async def test_after_leaving_the_port_is_free() -> None:
    async with serving(Waiting().app, grace_seconds=0) as (client, leave):
        port = client.base_url.port
        await leave()
        with socket.create_server(("127.0.0.1", port or 0)) as ours:
            assert ours.getsockname()[1] == port


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_in_use_is_a_mistake_in_the_configuration(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"port {port} can't be used: Address already in use") as refused:
            await listen(host, port)
    assert "--port" in refused.value.hint


@pytest.mark.parametrize(("host", "port"), [("no such host", 0), ("203.0.113.7", 0), ("[::1", 70_000), ("::g", 0)])
async def test_an_address_of_no_use_is_a_mistake_in_the_configuration(host: str, port: int) -> None:
    with pytest.raises(ConfigurationError, match=r"http\.host"):
        await listen(host, port)


async def listen(host: str, port: int) -> None:
    stop = asyncio.Event()
    await serve_http(
        Waiting().app,
        host=host,
        port=port,
        stop=stop,
        grace_seconds=lambda: 0,
        on_ready=lambda _: pytest.fail("it listens"),
    )
