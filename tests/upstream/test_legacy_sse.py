from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from tests.fakes import hearing
from tests.upstream.http_servers import BOUND_SECONDS, Out, Script, SdkServer, Seen, serve, unused_address
from toolcrib.errors import AuthenticationFailed, ServerConnectionError
from toolcrib.upstream.http_client import open_http_client
from toolcrib.upstream.link import Link, SessionExpired
from toolcrib.upstream.sse import LegacySseLink
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, RpcError

INITIALIZE = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
VERSION = {"MCP-Protocol-Version": "2024-11-05"}
Note = tuple[str, Any, int | None]


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with open_http_client(user_agent="toolcrib/test", connect_seconds=5) as client:
        yield client


@asynccontextmanager
async def opened(
    url: str,
    client: httpx2.AsyncClient,
    *,
    headers: Mapping[str, str] | None = None,
    notes: asyncio.Queue[Note] | None = None,
    connect_seconds: float = 5,
    max_body_bytes: int = 1_000_000,
) -> AsyncIterator[LegacySseLink]:
    def hear(method: str, params: bytes, id: int | None) -> None:
        if notes is not None:
            notes.put_nowait((method, json.loads(params), id))

    async with asyncio.timeout(BOUND_SECONDS):
        link = await LegacySseLink.open(
            "old",
            url,
            headers or {},
            client=client,
            ears=hearing(hear),
            max_body_bytes=max_body_bytes,
            connect_seconds=connect_seconds,
        )
    try:
        yield link
    finally:
        async with asyncio.timeout(BOUND_SECONDS):
            await link.close()


async def ask(link: Link, method: str, params: Any = None, *, id: int = 1) -> Any:
    async with asyncio.timeout(BOUND_SECONDS):
        return json.loads(bytes(await link.request(id, method, json.dumps(params or {}).encode(), VERSION)))


async def start_session(link: Link) -> Any:
    result = await ask(link, "initialize", INITIALIZE, id=0)
    await link.notify("notifications/initialized", b"{}", VERSION)
    return result


async def call(link: Link, name: str, arguments: Any = None, *, id: int = 1, meta: Any = None) -> Any:
    return await ask(link, "tools/call", {"name": name, "arguments": arguments or {}, "_meta": meta or {}}, id=id)


# ------------------------------------------------------------------ the SDK's own server


async def test_a_server_of_the_sdk_is_spoken_to(client: httpx2.AsyncClient) -> None:
    async with serve(SdkServer().sse_app()) as base, opened(f"{base}/sse", client) as link:
        assert (await start_session(link))["serverInfo"]["name"] == "sdk"
        results = await asyncio.gather(*(call(link, "echo", {"n": n}, id=n) for n in range(1, 9)))
    assert [result["content"][0]["text"] for result in results] == [f'{{"n": {n}}}' for n in range(1, 9)]


async def test_notifications_and_pings_pass(client: httpx2.AsyncClient) -> None:
    notes: asyncio.Queue[Note] = asyncio.Queue()
    async with serve(SdkServer().sse_app()) as base, opened(f"{base}/sse", client, notes=notes) as link:
        await start_session(link)
        await call(link, "noisy", meta={"progressToken": 1})
        await call(link, "ping", id=2)
    method, progress, id = notes.get_nowait()
    assert (method, progress["message"], id) == ("notifications/progress", "half", None)


async def test_an_unknown_method_is_the_servers_own_error(client: httpx2.AsyncClient) -> None:
    async with serve(SdkServer().sse_app()) as base, opened(f"{base}/sse", client) as link:
        await start_session(link)
        with pytest.raises(RpcError) as caught:
            await ask(link, "no/such")
    assert caught.value.code == METHOD_NOT_FOUND


async def test_cancelling_a_request_cancels_the_tool_on_the_server(client: httpx2.AsyncClient) -> None:
    sdk = SdkServer()
    async with serve(sdk.sse_app()) as base, opened(f"{base}/sse", client) as link:
        await start_session(link)
        waiting = asyncio.create_task(call(link, "slow"))
        async with asyncio.timeout(BOUND_SECONDS):
            await sdk.started.wait()
            waiting.cancel()
            await sdk.cancelled.wait()
        with pytest.raises(asyncio.CancelledError):
            await waiting


# ------------------------------------------------------------------ odd servers


class OldServer:
    """A scripted server: `/sse` names an address for messages, whose answers `respond` writes to the stream."""

    def __init__(self, endpoint: bytes = b"/messages?session=1", status: int = 202) -> None:
        self.script = Script(self._answer)
        self._endpoint = endpoint
        self._status = status
        self._stream: Out | None = None
        self.end_stream = asyncio.Event()

    async def _answer(self, seen: Seen, out: Out) -> None:
        if seen.method == "GET":
            await self._open(out)
        else:
            await self._respond(seen, out)

    async def _open(self, out: Out) -> None:
        self._stream = out
        await out.start()
        await out.event(self._endpoint, name="endpoint")
        ended = asyncio.create_task(self.end_stream.wait())
        gone = asyncio.create_task(out.until_disconnect())
        await asyncio.wait({ended, gone}, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            self.script.note_disconnect()
        else:
            await out.end()
        gone.cancel()
        ended.cancel()

    async def _respond(self, seen: Seen, out: Out) -> None:
        await out.send(self._status)
        assert self._stream is not None
        if seen.rpc == "stop":
            self.end_stream.set()
        elif seen.rpc == "flood":
            await self._stream.event(seen.answer("x" * 2000))
        elif "id" in seen.message:
            await self._stream.event(seen.answer(seen.headers))


async def test_messages_go_to_the_named_address_with_the_headers_of_the_entry(client: httpx2.AsyncClient) -> None:
    server = OldServer()
    entry = {"Authorization": "Bearer t"}
    async with serve(server.script) as base, opened(f"{base}/sse", client, headers=entry) as link:
        headers = await ask(link, "x")
        await link.notify("n", b"{}", VERSION)
    assert (headers["authorization"], headers["mcp-protocol-version"]) == ("Bearer t", "2024-11-05")
    assert headers["content-type"] == "application/json"
    assert [seen.path for seen in server.script.seen] == ["/sse", "/messages", "/messages"]
    assert server.script.seen[0].headers["accept"] == "text/event-stream"


async def test_a_stream_that_ends_fails_waiting_requests_with_the_outcome_open(client: httpx2.AsyncClient) -> None:
    server = OldServer()
    async with serve(server.script) as base, opened(f"{base}/sse", client) as link:
        with pytest.raises(ServerConnectionError) as caught:
            await ask(link, "stop")
        async with asyncio.timeout(BOUND_SECONDS):
            assert "ended" in await link.wait_closed()
        with pytest.raises(ServerConnectionError) as later:
            await ask(link, "x")
    assert (caught.value.sent, later.value.sent) == (True, False)


async def test_an_answer_over_the_limit_ends_the_link(client: httpx2.AsyncClient) -> None:
    server = OldServer()
    async with serve(server.script) as base, opened(f"{base}/sse", client, max_body_bytes=1000) as link:
        with pytest.raises(ServerConnectionError, match="1000"):
            await ask(link, "flood")


async def test_closing_ends_the_stream(client: httpx2.AsyncClient) -> None:
    server = OldServer()
    async with serve(server.script) as base:
        async with opened(f"{base}/sse", client) as link:
            await ask(link, "x")
        await server.script.until(lambda: server.script.disconnects == 1)
        assert "closed" in await link.wait_closed()


@pytest.mark.parametrize(
    "endpoint", [b"http://127.0.0.1:1/messages", b"https://evil.test/x", b"//evil.test/x", b"//[", b"\xff"]
)
async def test_an_address_on_another_origin_is_refused(client: httpx2.AsyncClient, endpoint: bytes) -> None:
    async with serve(OldServer(endpoint).script) as base:
        with pytest.raises(ServerConnectionError) as caught:
            async with opened(f"{base}/sse", client):
                pass
    assert not caught.value.sent


async def test_a_full_address_on_the_same_origin_is_used(client: httpx2.AsyncClient) -> None:
    server = OldServer()
    async with serve(server.script) as base:
        server._endpoint = f"{base}/elsewhere".encode()
        async with opened(f"{base}/sse", client) as link:
            await ask(link, "x")
    assert server.script.seen[1].path == "/elsewhere"


async def test_404_for_a_message_means_the_session_is_gone(client: httpx2.AsyncClient) -> None:
    async with serve(OldServer(status=404).script) as base, opened(f"{base}/sse", client) as link:
        with pytest.raises(SessionExpired):
            await ask(link, "x")
        async with asyncio.timeout(BOUND_SECONDS):
            assert "session" in await link.wait_closed()


async def test_a_refused_message_fails_its_request_at_once(client: httpx2.AsyncClient) -> None:
    async with serve(OldServer(status=401).script) as base, opened(f"{base}/sse", client) as link:
        with pytest.raises(AuthenticationFailed):
            await ask(link, "x")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthenticationFailed),
        (404, ServerConnectionError),
        (405, ServerConnectionError),
        (503, ServerConnectionError),
    ],
)
async def test_a_refused_stream_says_why(client: httpx2.AsyncClient, status: int, kind: type[Exception]) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(status)

    async with serve(Script(answer)) as base:
        with pytest.raises(kind) as caught:
            async with opened(base, client):
                pass
    assert getattr(caught.value, "hint", "")


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"", b"data: x\n\n"])
async def test_a_body_that_names_no_address_is_refused(client: httpx2.AsyncClient, body: bytes) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, body, "text/html")

    async with serve(Script(answer)) as base:
        with pytest.raises(ServerConnectionError):
            async with opened(base, client):
                pass


async def test_a_server_that_never_names_an_address_is_given_up(client: httpx2.AsyncClient) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.start()
        await out.write(b": hello\n\n")
        await out.until_disconnect()
        script.note_disconnect()

    script = Script(answer)
    async with serve(script) as base:
        with pytest.raises(ServerConnectionError) as caught:
            async with opened(base, client, connect_seconds=0.2):
                pass
        await script.until(lambda: script.disconnects == 1)
    assert not caught.value.sent


async def test_a_refused_connection_was_never_sent(client: httpx2.AsyncClient) -> None:
    with pytest.raises(ServerConnectionError, match="refused") as caught:
        async with opened(unused_address(), client):
            pass
    assert not caught.value.sent
