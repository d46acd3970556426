"""Connections that never say what they want, and more of them than there is room for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from toolcrib.server.http import serve_http
from toolcrib.server.http_connections import MOST_REFUSED, ConnectionLimits

BOUND_SECONDS = 10.0
SHORT = 0.2
HALF_A_HEAD = b"POST /echo HTTP/1.1\r\nHost: 127.0"
HALF_A_BODY = b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\nhalf"


@dataclass
class Line:
    """One bare connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    async def rest(self) -> bytes:
        """All that comes until the server closes; nothing where it cuts off."""
        async with asyncio.timeout(BOUND_SECONDS):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""


@dataclass
class Place:
    """A served app: `/echo` answers, `/wait` does once `done` is set, `/stream` goes on."""

    limits: ConnectionLimits
    done: asyncio.Event = field(default_factory=asyncio.Event)
    entered: int = 0
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""
    lines: list[Line] = field(default_factory=list)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[httpx2.AsyncClient]:
        routes = [
            Route("/echo", self._echo, methods=["GET", "POST"]),
            Route("/wait", self._wait, methods=["POST"]),
            Route("/stream", self._stream),
            Route("/flood", self._flood),
        ]
        port = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve_http(
                Starlette(routes=routes),
                host="127.0.0.1",
                port=0,
                stop=self.stop,
                grace_seconds=lambda: 0.1,
                on_ready=port.set_result,
                limits=lambda: self.limits,
            )
        )
        self.url = f"http://127.0.0.1:{await port}"
        async with httpx2.AsyncClient(base_url=self.url, timeout=BOUND_SECONDS) as client:
            try:
                yield client
            finally:
                self.stop.set()
                async with asyncio.timeout(BOUND_SECONDS):
                    await serving
                for line in self.lines:
                    line.writer.close()

    async def connect(self, said: bytes = b"") -> Line:
        line = Line(*await asyncio.open_connection("127.0.0.1", int(self.url.rpartition(":")[2])))
        self.lines.append(line)
        line.say(said)
        return line

    async def busy(self, client: httpx2.AsyncClient, count: int) -> list[asyncio.Task[httpx2.Response]]:
        """So many requests under way."""
        calls = [asyncio.create_task(client.post("/wait")) for _ in range(count)]
        async with asyncio.timeout(BOUND_SECONDS):
            while self.entered < count:  # noqa: ASYNC110 - counted in the same loop
                await asyncio.sleep(0.005)
        return calls

    async def _echo(self, request: Request) -> Response:
        return Response(await request.body())

    async def _wait(self, _: Request) -> Response:
        self.entered += 1
        await self.done.wait()
        return JSONResponse("done")

    async def _stream(self, _: Request) -> Response:
        return StreamingResponse(self._words(), media_type="text/event-stream")

    async def _flood(self, _: Request) -> Response:
        return StreamingResponse(self._much())

    async def _much(self) -> AsyncIterator[bytes]:
        try:
            for _ in range(2_000):
                yield b"x" * 65_536
        finally:
            self.done.set()

    async def _words(self) -> AsyncIterator[bytes]:
        yield b"first "
        await self.done.wait()
        yield b"last"


@pytest.mark.parametrize("said", [b"", b"G", HALF_A_HEAD])
async def test_a_connection_that_does_not_finish_its_head_is_closed(said: bytes) -> None:
    place = Place(ConnectionLimits(head_seconds=SHORT, body_seconds=60))
    async with place.open():
        line = await place.connect(said)

        assert (await line.rest()).startswith(b"HTTP/1.1 408 ")


async def test_a_connection_whose_body_does_not_come_is_closed() -> None:
    place = Place(ConnectionLimits(head_seconds=60, body_seconds=SHORT))
    async with place.open():
        line = await place.connect(HALF_A_BODY)

        assert await line.rest() == b""


async def test_a_client_that_does_not_read_what_it_asked_for_is_cut_off() -> None:
    place = Place(ConnectionLimits(unread_seconds=SHORT))
    async with place.open():
        line = await place.connect(b"GET /flood HTTP/1.1\r\nHost: here\r\n\r\n")
        async with asyncio.timeout(BOUND_SECONDS):
            await place.done.wait()

        assert len(await line.rest()) < 2_000 * 65_536


async def test_the_next_request_on_a_connection_has_its_time_too() -> None:
    place = Place(ConnectionLimits(head_seconds=SHORT, body_seconds=60))
    async with place.open():
        line = await place.connect(b"GET /echo HTTP/1.1\r\nHost: here\r\n\r\n")
        await line.reader.readuntil(b"\r\n\r\n")
        line.say(HALF_A_HEAD)

        assert (await line.rest()).startswith(b"HTTP/1.1 408 ")


async def test_a_call_or_a_stream_may_take_as_long_as_it_likes() -> None:
    place = Place(ConnectionLimits(head_seconds=SHORT, body_seconds=SHORT))
    async with place.open() as client, client.stream("GET", "/stream") as stream:
        words = stream.aiter_bytes()
        assert await anext(words) == b"first "
        (call,) = await place.busy(client, 1)
        assert await (await place.connect(HALF_A_HEAD)).rest()  # whose time is over by now
        place.done.set()

        assert (await call).json() == "done"
        assert await anext(words) == b"last"


async def test_a_full_house_is_told_with_503_and_those_inside_are_served_on() -> None:
    place = Place(ConnectionLimits(connections=3))
    async with place.open() as client:
        calls = await place.busy(client, 3)
        async with httpx2.AsyncClient(base_url=place.url, timeout=BOUND_SECONDS) as late:
            refused = await late.get("/echo")
        place.done.set()

        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "http.maxConnections" in refused.json()["error"]
        assert [(await call).json() for call in calls] == ["done"] * 3
        assert (await client.get("/echo")).status_code == 200


async def test_a_raised_limit_lets_more_connections_in_at_once() -> None:
    place = Place(ConnectionLimits(connections=1))
    async with place.open() as client:
        await place.busy(client, 1)
        async with httpx2.AsyncClient(base_url=place.url, timeout=BOUND_SECONDS) as late:
            refused = await late.get("/echo")
            place.limits = ConnectionLimits(connections=2)
            served = await late.get("/echo")
        place.done.set()

        assert (refused.status_code, served.status_code) == (503, 200)


async def test_connections_that_ask_for_nothing_make_room_for_those_that_do() -> None:
    place = Place(ConnectionLimits(connections=20))
    async with place.open() as client:
        lines = [await place.connect(HALF_A_HEAD) for _ in range(100)]
        (call,) = await place.busy(client, 1)
        lines += [await place.connect(HALF_A_HEAD) for _ in range(100)]

        assert (await client.post("/echo", content=b"heard")).content == b"heard"
        place.done.set()
        assert (await call).json() == "done"
        assert await lines[0].rest() == b""


async def test_those_who_are_refused_can_not_fill_the_house_either() -> None:
    place = Place(ConnectionLimits(connections=2))
    async with place.open() as client:
        await place.busy(client, 2)
        lines = [await place.connect(HALF_A_HEAD) for _ in range(2 * MOST_REFUSED)]
        async with httpx2.AsyncClient(base_url=place.url, timeout=BOUND_SECONDS) as late:
            assert (await late.get("/echo")).status_code == 503
        place.done.set()

        assert await lines[0].rest() == b""


async def test_leaving_does_not_wait_for_connections_that_are_in_the_middle_of_a_request() -> None:
    place = Place(ConnectionLimits())
    async with place.open():
        lines = [await place.connect(said) for said in (b"", HALF_A_HEAD, HALF_A_BODY)]
        place.stop.set()

        for line in lines:
            await line.rest()
