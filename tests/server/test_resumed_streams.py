"""Streams of older clients that break: what was said meanwhile is told when they come back, to them alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.streamable_http import GET_STREAM_KEY, EventMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse

from tests.journeys.http_gateway import write_config
from tests.server.http_face import ACCEPT, TOKEN, Bare, http_face
from tests.server.slow_upstream import SlowServer
from tests.upstream.http_servers import Script, serve
from toolcrib.server.event_store import SessionEvents
from toolcrib.server.kept_events import KeptEvents

BOUND_SECONDS = 10.0


@dataclass
class Event:
    id: str = ""
    message: dict[str, Any] = field(default_factory=dict)

    @property
    def progress(self) -> Any:
        return self.message.get("params", {}).get("progress")

    @property
    def text(self) -> str:
        return str(json.loads(self.message["result"]["content"][0]["text"])["result"])


async def events_of(response: httpx2.Response) -> AsyncIterator[Event]:
    """The events of a stream as they come; comments are none."""
    event = Event()
    async for line in response.aiter_lines():
        name, _, value = line.partition(":")
        if name == "id":
            event.id = value.strip()
        elif name == "data" and value.strip():
            event.message = json.loads(value)
        elif not line and (event.id or event.message):
            yield event
            event = Event()


def call(say: Any = "done", id: int = 1) -> dict[str, Any]:
    asked = {"server": "far", "tool": "slow", "arguments": {"say": json.dumps([say])}}
    params = {"name": "execute_tool", "arguments": asked, "_meta": {"progressToken": "ours"}}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def headers_of(client: Bare, **more: str) -> dict[str, str]:
    return {**ACCEPT, "authorization": f"Bearer {TOKEN}", **client.session, **more}


async def broken_off(client: Bare, message: dict[str, Any]) -> Event:
    """Call, and leave once the tool has said something; the last event that was heard."""
    async with client.http.stream("POST", client.url, json=message, headers=headers_of(client)) as response:
        async for event in events_of(response):
            if event.progress == 1:
                return event
    raise AssertionError("it ended by itself")


async def resumed(client: Bare, last_event_id: str) -> list[Event]:
    """Every event of a stream that is taken up again, up to its end."""
    headers = headers_of(client, **{"last-event-id": last_event_id})
    async with asyncio.timeout(BOUND_SECONDS):
        async with client.http.stream("GET", client.url, headers=headers) as response:
            assert response.status_code == 200
            return [event async for event in events_of(response)]


@dataclass
class Around:
    """A face with a slow server behind it."""

    face: Bare
    slow: SlowServer


@asynccontextmanager
async def slow_face(folder: Path, **http: Any) -> AsyncIterator[Around]:
    slow = SlowServer()
    async with serve(Script(slow)) as far, http_face(write_config(folder, {"far": {"url": far}}, http=http)) as face:
        yield Around(face, slow)


async def test_a_broken_stream_is_taken_up_where_it_broke_and_ends_with_the_answer(tmp_path: Path) -> None:
    async with slow_face(tmp_path) as around:
        client = await around.face.open("legacy")
        last = await broken_off(client, call())
        resuming = asyncio.create_task(resumed(client, last.id))
        around.slow.go.set()
        progress, answer = await resuming
        assert (progress.progress, answer.message["id"], answer.text) == (2, 1, "['done']")
        assert await resumed(client, last.id) == [progress, answer]
        assert await resumed(client, progress.id) == [answer]
        assert await resumed(client, answer.id) == []


async def test_a_stream_that_broke_before_anything_was_said_is_taken_up_too(tmp_path: Path) -> None:
    async with slow_face(tmp_path) as around:
        client = await around.face.open("legacy")
        async with client.http.stream("POST", client.url, json=call(), headers=headers_of(client)) as response:
            first = await anext(events_of(response))
        assert first.message == {}
        around.slow.go.set()
        assert [event.progress for event in await resumed(client, first.id)] == [1, 2, None]


async def test_a_broken_stream_is_taken_up_by_its_own_session_only(tmp_path: Path) -> None:
    async with slow_face(tmp_path) as around:
        mine, theirs = await around.face.open("legacy"), await around.face.open("legacy")
        last = await broken_off(mine, call("mine"))
        their_last = await broken_off(theirs, call("theirs"))
        around.slow.go.set()
        (nothing,) = await resumed(theirs, last.id)
        assert (nothing.message["id"], nothing.message["error"]["code"]) == (1, -32000)
        assert (await resumed(mine, last.id))[-1].text == "['mine']"
        assert (await resumed(theirs, their_last.id))[-1].text == "['theirs']"


async def test_what_does_not_fit_is_let_go_and_the_client_is_told(tmp_path: Path) -> None:
    async with slow_face(tmp_path, eventBytes=20_000) as around:
        around.slow.go.set()
        client = await around.face.open("legacy")
        firsts = []
        for id in range(1, 4):
            message = call("x" * 8_000, id)
            async with client.http.stream("POST", client.url, json=message, headers=headers_of(client)) as response:
                first, *_ = [event async for event in events_of(response)]
            firsts.append(first.id)
        lost, *kept = [await resumed(client, first) for first in firsts]
        assert [events[-1].message["id"] for events in kept] == [2, 3]
        assert all("result" in events[-1].message for events in kept)
        (told,) = lost
        assert (told.message["id"], told.message["error"]["code"]) == (1, -32000)


async def test_the_official_client_comes_back_by_itself(tmp_path: Path) -> None:
    async with slow_face(tmp_path) as around:
        wire = CutOnce(around.slow.go)
        async with httpx2.AsyncClient(transport=wire, headers={"Authorization": f"Bearer {TOKEN}"}) as http:
            transport = streamable_http_client(around.face.url, http_client=http)
            async with Client(transport, mode="legacy", read_timeout_seconds=BOUND_SECONDS) as client:
                result = await client.call_tool("execute_tool", call()["params"]["arguments"])
    assert wire.has_cut
    assert "done" in result.content[0].text


class CutOnce(httpx2.AsyncHTTPTransport):
    """The network, which breaks once, in the middle of the first call."""

    def __init__(self, when_cut: asyncio.Event) -> None:
        super().__init__()
        self._when_cut = when_cut
        self.has_cut = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not self.has_cut and b"tools/call" in request.content:
            self.has_cut = True
            response.stream = _Cut(response.stream, self._when_cut)
        return response


class _Cut(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, when_cut: asyncio.Event) -> None:
        self._stream = stream
        self._when_cut = when_cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part
            await self._stream.aclose()
            self._when_cut.set()
            raise httpx2.ReadError("the network is gone")


# -- how long


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def answer(id: int) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=id, result={"n": id})


async def told_after(store: SessionEvents, event_id: str) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []

    async def send(event: EventMessage) -> None:
        told.append(event.message.model_dump(mode="json", exclude_unset=True))

    async with asyncio.timeout(BOUND_SECONDS):
        await store.replay_events_after(event_id, send)
    return told


async def test_an_answer_is_kept_for_a_while_and_a_call_that_runs_for_as_long_as_it_takes() -> None:
    clock = Clock()
    store = SessionEvents(KeptEvents(lambda: 10_000, lambda: 60.0, clock))
    first = await store.store_event("1", None)
    clock.now = 1000
    assert await store.store_event("1", answer(1))
    assert [event["result"] for event in await told_after(store, first)] == [{"n": 1}]
    clock.now = 1061
    await store.store_event("2", None)
    assert [event["error"]["code"] for event in await told_after(store, first)] == [-32000]


async def test_an_id_that_is_used_again_is_another_stream() -> None:
    store = SessionEvents(KeptEvents(lambda: 10_000, lambda: 60.0, Clock()))
    first = await store.store_event("1", None)
    await store.store_event("1", answer(1))
    again = await store.store_event("1", None)
    await store.store_event("1", answer(1))
    assert [list(event) for event in await told_after(store, first)] == [["jsonrpc", "id", "error"]]
    assert [event["result"] for event in await told_after(store, again)] == [{"n": 1}]


async def test_one_who_waits_for_events_that_are_let_go_is_told() -> None:
    store = SessionEvents(KeptEvents(lambda: 1_000, lambda: 60.0, Clock()))
    first = await store.store_event("1", None)
    waiting = asyncio.create_task(told_after(store, first))
    for id in range(2, 8):
        await asyncio.sleep(0)
        await store.store_event(str(id), None)
    assert [event["error"]["code"] for event in await waiting] == [-32000]


async def test_notices_that_belong_to_no_request_are_kept_for_a_while_each() -> None:
    clock = Clock()
    store = SessionEvents(KeptEvents(lambda: 10_000, lambda: 60.0, clock))
    ids = []
    for at in (0, 30, 70):
        clock.now = at
        notice = JSONRPCNotification(jsonrpc="2.0", method=f"notifications/at{at}")
        ids.append(await store.store_event(GET_STREAM_KEY, notice))
    assert [event["method"] for event in await told_after(store, ids[0])] == [
        "notifications/at30",
        "notifications/at70",
    ]
    assert [event["method"] for event in await told_after(store, ids[1])] == ["notifications/at70"]


@pytest.mark.parametrize("id", ["7", "", "....", "a.b.c", "!.0123.1", f"____.{'0' * 32}.1", f"gA==.{'0' * 32}.1"])
async def test_an_id_that_is_none_of_ours_opens_the_stream_that_belongs_to_no_request(id: str) -> None:
    store = SessionEvents(KeptEvents(lambda: 10_000, lambda: 60.0, Clock()))
    assert await told_after(store, id) == []
