"""Clients that know only the first HTTP transport: the same five tools, behind the same checks."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import Implementation

from tests.journeys.asking import Person
from tests.journeys.http_gateway import write_config
from tests.journeys.test_asking_over_http import Reception
from tests.server.http_face import ACCEPT, TOKEN, Bare, http_face
from tests.server.slow_upstream import SlowServer
from tests.server.test_http_drain import stoppable
from tests.server.test_issued_tokens import guarded
from tests.upstream.http_servers import Script, serve

BOUND_SECONDS = 10.0
INFO = Implementation(name="old", version="1")


def sse_url(face: Bare) -> str:
    return face.url.replace("/mcp", "/sse")


@asynccontextmanager
async def connected(face: Bare, way: Mapping[str, Any] | None = None, **options: Any) -> AsyncIterator[Client]:
    """The official client over the first HTTP transport, which is made with the options in `way`."""
    transport = sse_client(sse_url(face), headers={"Authorization": f"Bearer {face.token}"}, **(way or {}))
    settings = {"mode": "legacy", "client_info": INFO, "read_timeout_seconds": BOUND_SECONDS, **options}
    async with Client(transport, **settings) as client:
        yield client


def execution(say: Any = "done") -> dict[str, Any]:
    return {"server": "far", "tool": "slow", "arguments": {"say": json.dumps([say])}}


async def test_the_official_client_finds_the_five_tools_and_runs_one_with_its_progress(tmp_path: Path) -> None:
    slow, heard = SlowServer(), []
    slow.go.set()

    async def hear(progress: float, _total: float | None, _message: str | None) -> None:
        heard.append(progress)

    async with (
        serve(Script(slow)) as far,
        http_face(write_config(tmp_path, {"far": {"url": far}})) as face,
        connected(face) as client,
    ):
        tools = await client.list_tools()
        result = await client.call_tool("execute_tool", execution(), progress_callback=hear)
    assert len(tools.tools) == 5
    assert json.loads(result.content[0].text) == {"success": True, "result": ["done"]}
    assert heard == [1, 2]


async def test_a_question_of_a_server_reaches_the_client_that_made_the_call(tmp_path: Path) -> None:
    ann, bob = Person("Ann"), Person("Bob")
    async with (
        Reception("legacy").serving() as url,
        http_face(write_config(tmp_path, {"desk": {"url": url}})) as face,
        connected(face, **ann.callbacks) as hers,
        connected(face, **bob.callbacks) as his,
    ):
        asked = {"server": "desk", "tool": "name", "arguments": {}}
        answers = await asyncio.gather(*(one.call_tool("execute_tool", asked) for one in (hers, his)))
    assert ["Ann" in answers[0].content[0].text, "Bob" in answers[1].content[0].text] == [True, True]
    assert [len(ann.messages), len(bob.messages)] == [1, 1]


async def test_sessions_do_not_hear_at_each_others_level(tmp_path: Path) -> None:
    heard: dict[str, list[Any]] = {"quiet": [], "curious": []}

    def hear(name: str) -> Any:
        async def callback(params: Any) -> None:
            heard[name].append(params.level)

        return callback

    async with (
        serve(Script(Talkative())) as far,
        http_face(write_config(tmp_path, {"far": {"url": far}})) as face,
        connected(face, logging_callback=hear("quiet")) as quiet,
        connected(face, logging_callback=hear("curious")) as curious,
    ):
        for client, level in ((quiet, "error"), (curious, "debug")):
            with pytest.warns(MCPDeprecationWarning):
                await client.set_logging_level(level)
        await quiet.call_tool("execute_tool", execution())
        await curious.call_tool("execute_tool", execution())
    assert heard == {"quiet": [], "curious": ["info"]}


class Talkative(SlowServer):
    """Says something of its work in each call."""

    async def _run(self, seen: Any, out: Any) -> None:
        await out.start()
        said = {"level": "info", "data": "working"}
        await out.event(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": said}).encode())
        await out.event(seen.answer({"content": [{"type": "text", "text": "[1]"}], "resultType": "complete"}))
        await out.end()


async def test_a_client_that_leaves_cancels_its_calls(tmp_path: Path) -> None:
    slow = SlowServer()
    async with serve(Script(slow)) as far, http_face(write_config(tmp_path, {"far": {"url": far}})) as face:
        async with open_stream(face) as url:
            hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
            call = {"name": "execute_tool", "arguments": execution()}
            for message in (
                {"id": 1, "method": "initialize", "params": hello},
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/call", "params": call},
            ):
                sent = await posted(face, url, json.dumps({"jsonrpc": "2.0", **message}).encode())
                assert sent.status_code == 202
            await slow.is_waiting.wait()
        async with asyncio.timeout(BOUND_SECONDS):
            await slow.was_cancelled.wait()


async def test_a_stopping_gateway_answers_what_is_open_on_such_a_stream(tmp_path: Path) -> None:
    async with stoppable(tmp_path, 0.05) as gateway, connected(gateway.face) as client:
        calling = asyncio.create_task(client.call_tool("execute_tool", execution()))
        await gateway.slow.is_waiting.wait()
        await gateway.stop()
        with pytest.raises(MCPError) as told:
            await calling
        assert "the gateway is stopping" in told.value.error.message


# -- what it refuses


@asynccontextmanager
async def open_stream(face: Bare) -> AsyncIterator[str]:
    """A bare stream, and where its messages go."""
    headers = {"accept": "text/event-stream", "authorization": f"Bearer {face.token}"}
    async with face.http.stream("GET", sse_url(face), headers=headers) as response:
        assert response.status_code == 200
        async for line in response.aiter_lines():
            if line.startswith("data:"):
                yield face.url.replace("/mcp", line.removeprefix("data:").strip())
                return


async def posted(face: Bare, url: str, content: bytes = b"", **headers: str) -> httpx2.Response:
    message = content or b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    return await face.http.post(
        url, content=message, headers={**ACCEPT, "authorization": f"Bearer {face.token}", **headers}
    )


async def test_messages_are_checked_like_those_to_the_endpoint(tmp_path: Path) -> None:
    async with http_face(write_config(tmp_path, {}, maxHttpBodyBytes=20_000)) as face, open_stream(face) as url:
        assert (await posted(face, url)).status_code == 202
        assert (await posted(face, url, b"not json")).status_code == 400
        assert (await posted(face, url, b" " * 20_001)).status_code == 413
        assert (await posted(face, url, **{"content-type": "text/plain"})).status_code == 400
        assert (await posted(replace(face, token="wrong"), url)).status_code == 401
        assert (await posted(face, url, host="evil.example")).status_code == 421
        assert (await posted(face, url, origin="https://evil.example")).status_code == 403
        for session in ("", "0" * 32, "../x", "nothing"):
            unknown = f"{url.partition('?')[0]}?session_id={session}"
            assert (await posted(face, unknown)).status_code in (400, 404), session


async def test_a_stream_takes_messages_of_nobody_else(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (issuer, face):
        ann, bob = replace(face, token=issuer.token()), replace(face, token=issuer.token(sub="bob"))
        async with open_stream(ann) as url:
            assert (await posted(bob, url)).status_code == 404
            assert (await posted(ann, url)).status_code == 202


class Spelling:
    """Writes the session of each message in another way; `others` is that of somebody else."""

    def __init__(self, others: str, *ways: str) -> None:
        self._others = others
        self._ways = itertools.cycle(ways)

    def __call__(self, **options: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(**options, event_hooks={"request": [self._write]})

    async def _write(self, request: httpx2.Request) -> None:
        if request.method == "POST":
            own = request.url.params["session_id"]
            query = next(self._ways).format(own=own, upper=own.upper(), others=self._others)
            request.url = request.url.copy_with(query=f"session_id={query}".encode())


@pytest.mark.parametrize("ways", [["{others}&session_id={own}"], ["{own}", "{upper}", "urn:uuid:{own}"]], ids=str)
async def test_a_message_belongs_to_the_session_that_was_checked_however_that_is_written(
    tmp_path: Path, ways: list[str]
) -> None:
    reception, sessions = Reception("legacy"), []
    asked = {"server": "desk", "tool": "name", "arguments": {}}
    async with (
        reception.serving() as url,
        http_face(write_config(tmp_path, {"desk": {"url": url, "share": "never"}})) as face,
        connected(face, {"on_session_created": sessions.append}) as hers,
    ):
        await hers.call_tool("execute_tool", asked)
        before = len(reception.sessions)
        async with connected(face, {"httpx_client_factory": Spelling(sessions[0], *ways)}) as his:
            for _ in range(3):
                await his.call_tool("execute_tool", asked)
        # Each of the two has the server for itself.
        assert len(reception.sessions) == before + 1


async def test_such_sessions_are_limited_and_one_that_ends_makes_room(tmp_path: Path) -> None:
    async with http_face(write_config(tmp_path, {}, http={"maxSessions": 1})) as face:
        headers = {"authorization": f"Bearer {face.token}"}
        async with open_stream(face):
            assert (await face.http.get(sse_url(face), headers=headers)).status_code == 503
        async with asyncio.timeout(BOUND_SECONDS):
            while await status_of_stream(face) == 503:
                pass


async def status_of_stream(face: Bare) -> int:
    async with face.http.stream("GET", sse_url(face), headers={"authorization": f"Bearer {face.token}"}) as response:
        return int(response.status_code)


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async with http_face(write_config(tmp_path, {}, http={"sse": False})) as face:
        assert await status_of_stream(face) == 404
        assert (await posted(face, face.url.replace("/mcp", "/messages?session_id=1"))).status_code == 404


async def test_a_client_that_asks_and_never_reads_fills_no_memory(tmp_path: Path) -> None:
    slow = SlowServer()
    slow.go.set()
    async with serve(Script(slow)) as far, http_face(write_config(tmp_path, {"far": {"url": far}})) as face:
        with socket.create_connection(("127.0.0.1", httpx2.URL(face.url).port)) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            messages = await asyncio.to_thread(opened, line, face)
            tell = partial(face.http.post, f"{face.url.removesuffix('/mcp')}{messages}", headers=AUTHORIZED)
            await tell(json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
            statuses: list[int] = []
            for id in itertools.count(1):
                params = {"name": "execute_tool", "arguments": execution("x" * 50_000)}
                asked = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
                statuses.append((await tell(json=asked)).status_code)
                if statuses[-1] != 202:
                    break

            assert statuses[-1] == 429
            assert len(statuses) < 1_000
            async with connected(face) as honest:
                answered = await honest.call_tool("execute_tool", execution())
                assert not answered.is_error


HELLO = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "deaf", "version": "1"}}
AUTHORIZED = {**ACCEPT, "authorization": f"Bearer {TOKEN}"}


def opened(line: socket.socket, face: Bare) -> str:
    """Open a stream on a bare connection; the address for its messages, and nothing more is read."""
    head = f"GET /sse HTTP/1.1\r\nHost: {httpx2.URL(face.url).netloc.decode()}\r\nAuthorization: Bearer {face.token}\r\n\r\n"
    line.sendall(head.encode())
    line.settimeout(BOUND_SECONDS)
    heard = b""
    while b"session_id=" not in heard:
        heard += line.recv(4096)
    return heard.partition(b"data: ")[2].split()[0].decode()
