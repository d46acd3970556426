from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from tests.fakes import hearing
from tests.upstream.http_servers import BOUND_SECONDS, Out, Script, SdkServer, Seen, serve, unused_address
from toolcrib.errors import (
    AuthenticationFailed,
    ConfigurationError,
    NeedsConfiguration,
    RateLimited,
    ServerConnectionError,
    ToolcribError,
)
from toolcrib.upstream.http_client import open_http_client
from toolcrib.upstream.link import Link, SessionExpired
from toolcrib.upstream.streamable_http import StreamableHttpLink
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, RpcError

LEGACY = {"MCP-Protocol-Version": "2025-11-25"}
MODERN = {"MCP-Protocol-Version": "2026-07-28"}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
}
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
    max_body_bytes: int = 1_000_000,
) -> AsyncIterator[StreamableHttpLink]:
    def hear(method: str, params: bytes, id: int | None) -> None:
        if notes is not None:
            notes.put_nowait((method, json.loads(params), id))

    link = await StreamableHttpLink.open(
        "odd", url, headers or {}, client=client, ears=hearing(hear), max_body_bytes=max_body_bytes, now=lambda: 0.0
    )
    try:
        yield link
    finally:
        async with asyncio.timeout(BOUND_SECONDS):
            await link.close()


async def ask(link: Link, method: str, params: Any = None, *, id: int = 1, headers: Mapping[str, str] = LEGACY) -> Any:
    async with asyncio.timeout(BOUND_SECONDS):
        return json.loads(await link.request(id, method, json.dumps(params or {}).encode(), headers))


async def start_session(link: Link) -> Any:
    result = await ask(link, "initialize", INITIALIZE, id=0, headers={})
    await link.notify("notifications/initialized", b"{}", LEGACY)
    return result


async def call(link: Link, name: str, arguments: Any = None, *, id: int = 1) -> Any:
    return await ask(link, "tools/call", {"name": name, "arguments": arguments or {}}, id=id)


async def call_modern(link: Link, name: str, arguments: Any = None, *, id: int = 1, meta: Any = None) -> Any:
    params = {"name": name, "arguments": arguments or {}, "_meta": {**ENVELOPE, **(meta or {})}}
    headers = {**MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name}
    return await ask(link, "tools/call", params, id=id, headers=headers)


def texts(result: Any) -> list[str]:
    return [block["text"] for block in result["content"]]


# ------------------------------------------------------------------ the SDK's own server, both eras


@pytest.mark.parametrize("options", [{}, {"json_response": True}, {"stateless_http": True}])
async def test_a_legacy_server_of_the_sdk_is_spoken_to(client: httpx2.AsyncClient, options: dict[str, Any]) -> None:
    async with serve(SdkServer().streamable_app(**options)) as base, opened(f"{base}/mcp", client) as link:
        assert (await start_session(link))["serverInfo"]["name"] == "sdk"
        assert [tool["name"] for tool in (await ask(link, "tools/list"))["tools"]] == ["echo", "noisy", "slow"]
        assert texts(await call(link, "echo", {"text": "naïve ✓"})) == ['{"text": "na\\u00efve \\u2713"}']


async def test_a_modern_server_of_the_sdk_is_spoken_to_without_a_session(client: httpx2.AsyncClient) -> None:
    async with serve(SdkServer().streamable_app()) as base, opened(f"{base}/mcp", client) as link:
        assert texts(await call_modern(link, "echo", {"a": 1})) == ['{"a": 1}']


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_progress_arrives_with_the_id_of_its_request(client: httpx2.AsyncClient, era: str) -> None:
    notes: asyncio.Queue[Note] = asyncio.Queue()
    async with serve(SdkServer().streamable_app()) as base, opened(f"{base}/mcp", client, notes=notes) as link:
        if era == "legacy":
            await start_session(link)
            params = {"name": "noisy", "arguments": {}, "_meta": {"progressToken": 7}}
            await ask(link, "tools/call", params, id=7)
        else:
            await call_modern(link, "noisy", id=7, meta={"progressToken": 7})
        method, progress, id = notes.get_nowait()
    assert (method, progress["progressToken"], progress["message"], id) == ("notifications/progress", 7, "half", 7)


async def test_an_unknown_modern_method_is_the_servers_own_error(client: httpx2.AsyncClient) -> None:
    async with serve(SdkServer().streamable_app()) as base, opened(f"{base}/mcp", client) as link:
        with pytest.raises(RpcError) as caught:
            await ask(link, "no/such", {"_meta": ENVELOPE}, headers={**MODERN, "Mcp-Method": "no/such"})
    assert caught.value.code == METHOD_NOT_FOUND


async def test_what_a_legacy_server_announces_outside_of_requests_is_heard(client: httpx2.AsyncClient) -> None:
    notes: asyncio.Queue[Note] = asyncio.Queue()
    async with serve(SdkServer().streamable_app()) as base, opened(f"{base}/mcp", client, notes=notes) as link:
        await start_session(link)
        async with asyncio.timeout(BOUND_SECONDS):
            while notes.empty():  # the SDK drops what it announces before the stream is open
                await call(link, "announce")
        method, _, id = notes.get_nowait()
    assert (method, id) == ("notifications/tools/list_changed", None)


async def test_a_ping_from_the_server_in_the_middle_of_a_call_is_answered(client: httpx2.AsyncClient) -> None:
    async with serve(SdkServer().streamable_app()) as base, opened(f"{base}/mcp", client) as link:
        await start_session(link)
        assert texts(await call(link, "ping")) == ["{}"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_cancelling_a_request_cancels_the_tool_on_the_server(client: httpx2.AsyncClient, era: str) -> None:
    sdk = SdkServer()
    async with serve(sdk.streamable_app()) as base, opened(f"{base}/mcp", client) as link:
        if era == "legacy":
            await start_session(link)
        waiting = asyncio.create_task(call(link, "slow") if era == "legacy" else call_modern(link, "slow"))
        async with asyncio.timeout(BOUND_SECONDS):
            await sdk.started.wait()
            waiting.cancel()
            await sdk.cancelled.wait()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_session_the_server_ended_is_reported_as_expired(client: httpx2.AsyncClient) -> None:
    async with serve(SdkServer().streamable_app()) as base, opened(f"{base}/mcp", client) as link:
        await start_session(link)
        async with opened(f"{base}/mcp", client) as other:
            other._session_id = link._session_id  # closing it ends the session on the server
        with pytest.raises(SessionExpired):
            await ask(link, "tools/list")
        async with asyncio.timeout(BOUND_SECONDS):
            assert "session" in await link.wait_closed()
        with pytest.raises(SessionExpired):
            await ask(link, "tools/list")


async def test_thirty_two_requests_run_side_by_side_and_keep_their_answers(client: httpx2.AsyncClient) -> None:
    async with serve(SdkServer().streamable_app()) as base, opened(f"{base}/mcp", client) as link:
        await start_session(link)
        results = await asyncio.gather(*(call(link, "echo", {"n": n}, id=n + 1) for n in range(32)))
    assert [texts(result) for result in results] == [[f'{{"n": {n}}}'] for n in range(32)]


# ------------------------------------------------------------------ what is sent


async def answer_ok(seen: Seen, out: Out) -> None:
    if "id" in seen.message:
        await out.send(200, seen.answer({"ok": True}), mcp_session_id="s-1")
    else:
        await out.send(202 if seen.method == "POST" else 405)


async def test_every_request_carries_what_the_transport_and_the_entry_ask_for(client: httpx2.AsyncClient) -> None:
    script = Script(answer_ok)
    entry = {"Authorization": "Bearer t\n", "X-Team": "a", "Accept": "text/html"}
    async with serve(script) as base, opened(f"{base}/mcp", client, headers=entry) as link:
        await start_session(link)
        await ask(link, "tools/list")
        await script.until_seen("GET")
    first, initialized = script.of("initialize")[0], script.of("notifications/initialized")[0]
    listed, deleted = script.of("tools/list")[0], script.of("DELETE")[0]
    for seen in script.seen:
        assert (seen.headers["authorization"], seen.headers["x-team"]) == ("Bearer t", "a")
        assert seen.headers["user-agent"] == "toolcrib/test"
    for seen in (first, initialized, listed):
        assert seen.headers["accept"] == "application/json, text/event-stream"
        assert seen.headers["content-type"] == "application/json"
    for seen in (initialized, listed, deleted, script.of("GET")[0]):
        assert (seen.headers["mcp-session-id"], seen.headers["mcp-protocol-version"]) == ("s-1", "2025-11-25")
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers


async def test_a_server_without_a_session_gets_no_listening_stream_and_no_delete(client: httpx2.AsyncClient) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await (out.send(200, seen.answer({})) if "id" in seen.message else out.send(202))

    script = Script(answer)
    async with serve(script) as base, opened(f"{base}/mcp", client) as link:
        await start_session(link)
        await ask(link, "tools/list")
    assert {seen.method for seen in script.seen} == {"POST"}


async def test_cookies_stay_with_the_link_that_got_them(client: httpx2.AsyncClient) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.send(200, seen.answer(seen.headers.get("cookie", "")), set_cookie="route=a; Path=/")

    async with serve(Script(answer)) as base, opened(base, client) as link, opened(base, client) as other:
        assert [await ask(link, "x"), await ask(link, "x"), await ask(other, "x")] == ["", "route=a", ""]


async def test_connections_are_used_again_after_an_answer_on_a_stream(client: httpx2.AsyncClient) -> None:
    ports: set[int] = set()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            ports.add(scope["client"][1])
        await script(scope, receive, send)

    async def answer(seen: Seen, out: Out) -> None:
        await out.start()
        await out.event(seen.answer("ok"))
        await out.end()

    script = Script(answer)
    async with serve(app) as base, opened(base, client) as link:
        for id in range(5):
            assert await ask(link, "x", id=id) == "ok"
            if link._draining:
                await asyncio.wait(link._draining, timeout=BOUND_SECONDS)
    assert len(ports) == 1


# ------------------------------------------------------------------ answers of every shape


@pytest.mark.parametrize("id", [b'"id":1,', b""])
async def test_a_malformed_answer_on_a_stream_ends_its_request_at_once(client: httpx2.AsyncClient, id: bytes) -> None:
    async def answer(_: Seen, out: Out) -> None:
        await out.start()
        await out.event(b'{"jsonrpc":"2.0","id":99,"result":NaN}')
        await out.event(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":NaN}')
        await out.event(b'{"jsonrpc":"2.0",%b"result":{"x":NaN}}' % id)
        await out.until_disconnect()

    async with serve(Script(answer)) as base, opened(base, client) as link:
        with pytest.raises(RpcError, match="the server sent a malformed answer: not JSON: NaN is not JSON"):
            await ask(link, "tools/call", headers=MODERN)


async def answered(client: httpx2.AsyncClient, answer: Any, **options: Any) -> Any:
    """The result of one request to a server that answers so."""
    async with serve(Script(answer)) as base, opened(f"{base}/mcp", client, **options) as link:
        return await ask(link, "x")


@pytest.mark.parametrize("content_type", ["text/plain", "text/event-stream", "application/octet-stream"])
async def test_json_under_a_wrong_content_type_is_read(client: httpx2.AsyncClient, content_type: str) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.send(200, seen.answer([1]), content_type)

    assert await answered(client, answer) == [1]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
async def test_an_event_stream_under_a_wrong_content_type_is_read(
    client: httpx2.AsyncClient, content_type: str
) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.send(200, b"data: " + seen.answer([1]), content_type)

    assert await answered(client, answer) == [1]


async def test_results_come_back_as_the_very_bytes_they_were(client: httpx2.AsyncClient) -> None:
    result = b'{ "n":1.10, "big": 123456789012345678901234567890,"u":"\\u00e9" }'

    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, b'{"jsonrpc":"2.0","id":1,"result":%b}' % result)

    async with serve(Script(answer)) as base, opened(base, client) as link:
        async with asyncio.timeout(BOUND_SECONDS):
            assert await link.request(1, "x", b"{}", {}) == result


async def test_notifications_and_server_requests_on_the_stream_are_dealt_with(client: httpx2.AsyncClient) -> None:
    notes: asyncio.Queue[Note] = asyncio.Queue()

    async def answer(seen: Seen, out: Out) -> None:
        if "method" not in seen.message:
            await out.send(202)
            return
        await out.start()
        await out.write(b": ping\n\nretry: 10\n\n")
        await out.event(b'{"jsonrpc":"2.0","method":"n/one","params":{"a":1}}')
        await out.event(b'{"jsonrpc":"2.0","id":"s1","method":"resources/list"}')
        await out.event(b"not json", name="message")
        await out.event(b'{"jsonrpc":"2.0","method":"n/ignored"}', name="other")
        await out.event(b'{"jsonrpc":"2.0",\ndata: "method":"n/two"}')
        await script.until(lambda: any("error" in seen.message for seen in script.seen))
        await out.event(seen.answer("done"))
        await out.until_disconnect()

    script = Script(answer)
    async with serve(script) as base, opened(base, client, notes=notes) as link:
        assert await ask(link, "x", id=4) == "done"
    heard = [notes.get_nowait() for _ in range(notes.qsize())]
    assert heard == [("n/one", {"a": 1}, 4), ("n/two", {}, 4)]
    reply = next(seen.message for seen in script.seen if "error" in seen.message)
    assert (reply["id"], reply["error"]["code"]) == ("s1", METHOD_NOT_FOUND)


async def test_of_two_answers_the_first_counts(client: httpx2.AsyncClient) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.start()
        await out.write(b"data: " + seen.answer("first") + b"\n\ndata: " + seen.answer("second") + b"\n\n")
        await out.end()

    assert await answered(client, answer) == "first"


async def test_a_batch_is_looked_through_for_the_answer(client: httpx2.AsyncClient) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.send(200, b'[{"jsonrpc":"2.0","method":"n"},' + seen.answer(5) + b"]")

    assert await answered(client, answer) == 5


@pytest.mark.parametrize("item", [b"1", b"{}", b"[]"])
async def test_a_batch_of_millions_of_values_is_no_answer(client: httpx2.AsyncClient, item: bytes) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.send(200, b"[" + (item + b",") * 600_000 + seen.answer(5) + b"]")

    with pytest.raises(ServerConnectionError):
        await answered(client, answer)


async def test_an_answer_to_somebody_else_is_not_ours(client: httpx2.AsyncClient) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, b'{"jsonrpc":"2.0","id":99,"result":{}}')

    with pytest.raises(ServerConnectionError) as caught:
        await answered(client, answer)
    assert caught.value.sent


async def test_an_answer_to_somebody_else_before_ours_is_passed_over(client: httpx2.AsyncClient) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.start()
        await out.event(b'{"jsonrpc":"2.0","id":99,"result":{}}')
        await out.event(seen.answer("ours"))
        await out.end()

    assert await answered(client, answer) == "ours"


@pytest.mark.parametrize("id", [b"1", b'"1"', b"null"])
async def test_an_error_answer_keeps_code_message_and_data(client: httpx2.AsyncClient, id: bytes) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, b'{"jsonrpc":"2.0","id":%b,"error":{"code":-5,"message":"no","data":[1]}}' % id)

    with pytest.raises(RpcError) as caught:
        await answered(client, answer)
    assert (caught.value.code, caught.value.message, caught.value.data) == (-5, "no", [1])


@pytest.mark.parametrize(
    ("status", "body", "content_type"),
    [(202, b"", "text/plain"), (204, b"", "text/plain"), (200, b"", "application/json"), (200, b"<html>", "text/html")],
)
async def test_a_success_without_an_answer_is_a_failure(
    client: httpx2.AsyncClient, status: int, body: bytes, content_type: str
) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(status, body, content_type)

    with pytest.raises(ServerConnectionError, match=str(status)) as caught:
        await answered(client, answer)
    assert caught.value.sent
    assert caught.value.hint


# ------------------------------------------------------------------ limits


async def endless(_seen: Seen, out: Out, start: bytes, content_type: str) -> None:
    await out.start(200, content_type)
    await out.write(start)
    try:
        while True:
            await out.write(b"x" * 65536)
            await asyncio.sleep(0)  # let the disconnect be noticed
    except OSError:
        pass


@pytest.mark.parametrize(("start", "kind"), [(b'{"a":"', "application/json"), (b"data: ", "text/event-stream")])
async def test_an_endless_body_is_given_up_at_the_limit(client: httpx2.AsyncClient, start: bytes, kind: str) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        writing = asyncio.create_task(endless(seen, out, start, kind))
        await out.until_disconnect()
        writing.cancel()
        script.note_disconnect()

    script = Script(answer)
    async with serve(script) as base, opened(base, client, max_body_bytes=500_000) as link:
        with pytest.raises(ServerConnectionError, match="500000") as caught:
            await ask(link, "x")
        await script.until(lambda: script.disconnects == 1)
    assert caught.value.sent


async def test_a_gzip_bomb_is_given_up_at_the_limit(client: httpx2.AsyncClient) -> None:
    bomb = gzip.compress(b'{"a":"' + b"x" * 50_000_000)

    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, bomb, content_encoding="gzip")

    assert len(bomb) < 100_000
    with pytest.raises(ServerConnectionError, match="1000000"):
        await answered(client, answer)


@pytest.mark.parametrize("said", [b"data:x\n\n", b"\n", b":\n"])
async def test_a_small_answer_that_unfolds_to_millions_of_events_holds_nobody_up(
    client: httpx2.AsyncClient, said: bytes
) -> None:
    flood = gzip.compress(b"data:x\n\n" + said * (24_000_000 // len(said)))

    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, flood, content_type="text/event-stream", content_encoding="gzip")

    assert len(flood) < 100_000
    now = asyncio.get_running_loop().time
    async with serve(Script(answer)) as base, opened(base, client) as link:
        asking = asyncio.create_task(ask(link, "x"))
        longest, until = 0.0, now() + 1.0
        while now() < until:
            before = now()
            await asyncio.sleep(0.01)
            longest = max(longest, now() - before)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    assert longest < 1.0


async def test_a_stream_that_breaks_off_again_and_again_is_not_taken_up_without_a_pause(
    client: httpx2.AsyncClient,
) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        if seen.rpc == "initialize":
            await out.send(200, seen.answer({"protocolVersion": "2025-11-25"}), mcp_session_id="s")
            return
        await out.send(200, b"id: %d\nretry: 0\ndata:\n\n" % len(script.seen), content_type="text/event-stream")

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        await start_session(link)
        before = len(script.seen)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await ask(link, "tools/call", id=7)
        asked = len(script.seen) - before

    assert 2 < asked < 60


async def test_a_large_answer_within_the_limit_arrives_whole(client: httpx2.AsyncClient) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.start()
        await out.event(seen.answer("x" * 3_000_000))
        await out.end()

    assert len(await answered(client, answer, max_body_bytes=4_000_000)) == 3_000_000


# ------------------------------------------------------------------ statuses and redirects


@pytest.mark.parametrize(
    ("status", "headers", "kind"),
    [
        (401, {"www_authenticate": "Bearer"}, AuthenticationFailed),
        (403, {}, AuthenticationFailed),
        (404, {}, RpcError),
        (405, {}, RpcError),
        (415, {}, ServerConnectionError),
        (500, {}, ServerConnectionError),
        (503, {}, ServerConnectionError),
    ],
)
async def test_a_status_becomes_our_error(
    client: httpx2.AsyncClient, status: int, headers: dict[str, str], kind: type[Exception]
) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(status, b"nothing here", "text/plain", **headers)

    with pytest.raises(kind):
        await answered(client, answer)


@pytest.mark.parametrize("wait", ["20", "Thu, 01 Jan 1970 00:00:20 GMT"])
async def test_a_rate_limit_says_how_long_to_wait(client: httpx2.AsyncClient, wait: str) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(429, retry_after=wait)

    with pytest.raises(RateLimited) as caught:
        await answered(client, answer)
    assert caught.value.retry_after_seconds == 20


@pytest.mark.parametrize(("status", "code"), [(400, -32022), (404, -32601)])
async def test_an_error_in_the_body_of_a_4xx_is_that_error(client: httpx2.AsyncClient, status: int, code: int) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await out.send(status, seen.error(code, "no"))

    with pytest.raises(RpcError) as caught:
        await answered(client, answer)
    assert caught.value.code == code


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_within_the_origin_is_followed_with_body_and_headers(
    client: httpx2.AsyncClient, status: int
) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        if seen.path == "/mcp":
            await out.send(status, location="/mcp/")
        else:
            await out.send(200, seen.answer([seen.path, seen.headers["authorization"]]))

    assert await answered(client, answer, headers={"Authorization": "Bearer t"}) == ["/mcp/", "Bearer t"]


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (307, "http://127.0.0.1:1/stolen?k=v"),
        (307, "ftp://127.0.0.1/stolen"),
        (302, "/stolen"),
        (307, "//u:p@[/stolen"),
    ],
)
async def test_a_redirect_out_of_the_origin_or_off_the_method_is_not_followed(
    client: httpx2.AsyncClient, status: int, location: str
) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(status, location=location)

    script = Script(answer)
    async with serve(script) as base, opened(base, client, headers={"Authorization": "Bearer t"}) as link:
        with pytest.raises(ServerConnectionError) as caught:
            await ask(link, "x")
    assert len(script.seen) == 1
    assert "k=v" not in caught.value.message


async def test_a_refused_redirect_names_where_it_leads(client: httpx2.AsyncClient) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(307, location="https://elsewhere.test/mcp?token=t")

    with pytest.raises(ServerConnectionError, match=r"https://elsewhere\.test/mcp$"):
        await answered(client, answer)


async def test_a_redirect_that_goes_in_circles_ends(client: httpx2.AsyncClient) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(307, location="/mcp")

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        with pytest.raises(ServerConnectionError, match="/mcp"):
            await ask(link, "x")
    assert len(script.seen) == 6


# ------------------------------------------------------------------ connections that fail


async def test_a_refused_connection_was_never_sent_and_says_what_to_do(client: httpx2.AsyncClient) -> None:
    async with opened(f"{unused_address()}/secret", client) as link:
        with pytest.raises(ServerConnectionError, match="refused") as caught:
            await ask(link, "x")
        with pytest.raises(ServerConnectionError):
            await link.notify("n", b"{}", {})
    assert not caught.value.sent
    assert caught.value.hint
    assert "secret" not in caught.value.message


async def test_https_to_a_port_that_speaks_http_says_so(client: httpx2.AsyncClient) -> None:
    async with serve(Script(answer_ok)) as base, opened(base.replace("http:", "https:"), client) as link:
        with pytest.raises(ServerConnectionError, match="TLS") as caught:
            await ask(link, "x")
    assert not caught.value.sent


async def raw_server(reply: bytes) -> asyncio.Server:
    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        writer.close()
        await writer.wait_closed()

    return await asyncio.start_server(serve_one, "127.0.0.1", 0)


@pytest.mark.parametrize(
    "reply",
    [b"", b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", b"HTTP/1.1 200 OK\r\n"],
    ids=["nothing", "no http", "half a body", "half a head"],
)
async def test_a_connection_that_breaks_after_the_request_leaves_the_outcome_open(
    client: httpx2.AsyncClient, reply: bytes
) -> None:
    async with await raw_server(reply) as server:
        port = server.sockets[0].getsockname()[1]
        async with opened(f"http://127.0.0.1:{port}/mcp", client) as link:
            with pytest.raises(ServerConnectionError) as caught:
                await ask(link, "x")
    assert caught.value.sent


@pytest.mark.parametrize(("gz", "why"), [(b"not gzip", "compressed")])
async def test_a_body_that_cannot_be_decompressed_is_a_failure(client: httpx2.AsyncClient, gz: bytes, why: str) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, gz, content_encoding="gzip")

    with pytest.raises(ServerConnectionError, match=why):
        await answered(client, answer)


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/x", "127.0.0.1:80", "", "http://", "http://a:99999/", "http://a:port/", "file:///x"]
)
async def test_an_address_that_is_not_http_is_refused_at_once(client: httpx2.AsyncClient, url: str) -> None:
    with pytest.raises(NeedsConfiguration):
        async with opened(url, client):
            pass


@pytest.mark.parametrize("headers", [{"X-Key": "sec\nret"}, {"X-Key": "sécret"}, {"X Key": "secret"}])
async def test_a_header_that_http_does_not_allow_is_refused_without_showing_it(
    client: httpx2.AsyncClient, headers: dict[str, str]
) -> None:
    with pytest.raises(NeedsConfiguration) as caught:
        async with opened("http://127.0.0.1:1/", client, headers=headers):
            pass
    assert not any(value in str(caught.value) for value in headers.values())


async def test_requests_after_close_fail_without_being_sent(client: httpx2.AsyncClient) -> None:
    script = Script(answer_ok)
    async with serve(script) as base, opened(base, client) as link:
        await link.close()
        with pytest.raises(ServerConnectionError) as caught:
            await ask(link, "x")
        assert not caught.value.sent
        assert "closed" in await link.wait_closed()
        await link.close()
    assert script.seen == []


async def test_a_closed_client_is_a_connection_error() -> None:
    async with (
        open_http_client(user_agent="t", connect_seconds=1) as client,
        opened("http://127.0.0.1:1", client) as link,
    ):
        await client.aclose()
        with pytest.raises(ServerConnectionError):
            await ask(link, "x")


# ------------------------------------------------------------------ the client


def test_a_proxy_variable_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://x")
    with pytest.raises(ConfigurationError) as caught:
        open_http_client(user_agent="t", connect_seconds=1)
    assert "HTTPS_PROXY" in caught.value.hint


async def test_a_server_on_this_machine_is_reached_past_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", unused_address())
    async with open_http_client(user_agent="t", connect_seconds=1) as client:
        assert await answered(client, answer_ok) == {"ok": True}


async def test_a_proxy_from_the_environment_is_used_for_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(Script(answer_ok)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        client = open_http_client(user_agent="t", connect_seconds=1)
        async with client, opened("http://far.test/mcp", client) as link:
            assert await ask(link, "x") == {"ok": True}


# ------------------------------------------------------------------ streams that end early


async def test_a_stream_that_ends_before_the_answer_leaves_the_outcome_open(client: httpx2.AsyncClient) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.start()
        await out.event(b'{"jsonrpc":"2.0","method":"n"}')
        await out.end()

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        with pytest.raises(ServerConnectionError) as caught:
            await ask(link, "x")
    assert caught.value.sent
    assert len(script.seen) == 1


async def test_a_legacy_stream_with_event_ids_is_taken_up_where_it_ended(client: httpx2.AsyncClient) -> None:
    notes: asyncio.Queue[Note] = asyncio.Queue()

    async def answer(seen: Seen, out: Out) -> None:
        await out.start()
        if seen.method == "POST":
            await out.event(b"", id="e1", retry_ms=1)
        elif len(script.of("GET")) == 1:
            await out.event(b'{"jsonrpc":"2.0","method":"n"}', id="e2")
        else:
            await out.event(script.seen[0].answer("late"), id="e3")
        await out.end()

    script = Script(answer)
    async with serve(script) as base, opened(base, client, notes=notes) as link:
        assert await ask(link, "x", id=3) == "late"
    assert [seen.headers["last-event-id"] for seen in script.of("GET")] == ["e1", "e2"]
    assert notes.get_nowait() == ("n", {}, 3)


async def test_a_broken_connection_in_a_stream_with_event_ids_is_taken_up_too(client: httpx2.AsyncClient) -> None:
    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n"
        if head.startswith(b"POST"):
            writer.write(stream + b"id: e1\nretry: 1\ndata:\n\n")
        else:
            writer.write(stream + b'id: e2\ndata: {"jsonrpc":"2.0","id":1,"result":"late"}\n\n')
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve_one, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with opened(f"http://127.0.0.1:{port}/mcp", client) as link:
            assert await ask(link, "x") == "late"


@pytest.mark.parametrize(("status", "resumes"), [(405, 1), (503, 2), (200, 2)])
async def test_a_stream_that_cannot_be_taken_up_leaves_the_outcome_open(
    client: httpx2.AsyncClient, status: int, resumes: int
) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        if seen.method == "POST":
            await out.start()
            await out.event(b"", id="e1", retry_ms=1)
            await out.end()
        else:
            await out.send(status, b"", "text/event-stream")

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        with pytest.raises(ServerConnectionError) as caught:
            await ask(link, "x")
    assert caught.value.sent
    assert len(script.of("GET")) == resumes


async def test_a_modern_stream_is_never_taken_up_again(client: httpx2.AsyncClient) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.start()
        await out.event(b"", id="e1", retry_ms=1)
        await out.end()

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        with pytest.raises(ServerConnectionError):
            await ask(link, "x", headers=MODERN)
    assert script.of("GET") == []


# ------------------------------------------------------------------ cancel


async def answer_never(script: Script, out: Out) -> None:
    await out.until_disconnect()
    script.note_disconnect()


@pytest.mark.parametrize("headers_first", [True, False])
@pytest.mark.parametrize("era", [MODERN, LEGACY])
async def test_a_cancelled_request_is_told_the_way_the_era_asks_for(
    client: httpx2.AsyncClient, era: Mapping[str, str], headers_first: bool
) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        if seen.rpc == "notifications/cancelled":
            await out.send(202)
            return
        if headers_first:
            await out.start()
            await out.write(b": wait\n\n")
        await answer_never(script, out)

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        waiting = asyncio.create_task(ask(link, "slow", id=9, headers=era))
        await script.until_seen("slow")
        waiting.cancel()
        await script.until(lambda: script.disconnects == 1)
        with pytest.raises(asyncio.CancelledError):
            await waiting
    cancels = [seen.message["params"] for seen in script.of("notifications/cancelled")]
    assert cancels == ([{"requestId": 9}] if era is LEGACY else [])


async def test_a_cancelled_initialize_is_not_told(client: httpx2.AsyncClient) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await answer_never(script, out)

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        waiting = asyncio.create_task(ask(link, "initialize", headers={}))
        await script.until_seen("initialize")
        waiting.cancel()
        await script.until(lambda: script.disconnects == 1)
    assert len(script.seen) == 1


async def test_a_server_gone_at_cancel_does_not_disturb_anybody(client: httpx2.AsyncClient) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        if seen.rpc == "notifications/cancelled":
            await out.send(500)
        else:
            await answer_never(script, out)

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        waiting = asyncio.create_task(ask(link, "slow"))
        await script.until_seen("slow")
        waiting.cancel()
        await script.until_seen("notifications/cancelled")
        with pytest.raises(asyncio.CancelledError):
            await waiting


# ------------------------------------------------------------------ listening, sessions, closing


async def test_the_listening_stream_is_opened_again_from_its_last_event(client: httpx2.AsyncClient) -> None:
    notes: asyncio.Queue[Note] = asyncio.Queue()

    async def answer(seen: Seen, out: Out) -> None:
        if seen.method != "GET":
            await answer_ok(seen, out)
            return
        await out.start()
        number = len(script.of("GET"))
        await out.event(b'{"jsonrpc":"2.0","method":"n","params":%d}' % number, id=f"e{number}", retry_ms=1)
        if number < 3:
            await out.end()
        else:
            await out.until_disconnect()

    script = Script(answer)
    async with serve(script) as base, opened(base, client, notes=notes) as link:
        await start_session(link)
        async with asyncio.timeout(BOUND_SECONDS):
            assert [await notes.get() for _ in range(3)] == [("n", 1, None), ("n", 2, None), ("n", 3, None)]
    assert [seen.headers.get("last-event-id") for seen in script.of("GET")] == [None, "e1", "e2"]


@pytest.mark.parametrize(("status", "kind"), [(405, "text/plain"), (404, "text/plain"), (200, "application/json")])
async def test_a_server_without_a_listening_stream_is_asked_once(
    client: httpx2.AsyncClient, status: int, kind: str
) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await (out.send(status, b"{}", kind) if seen.method == "GET" else answer_ok(seen, out))

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        await start_session(link)
        assert link._listening is not None
        async with asyncio.timeout(BOUND_SECONDS):
            await link._listening
        assert await ask(link, "still/fine") == {"ok": True}
    assert len(script.of("GET")) == 1


async def test_a_session_forgotten_by_the_server_ends_the_link(client: httpx2.AsyncClient) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await (out.send(404, seen.error(-32600, "Session not found")) if seen.rpc == "x" else answer_ok(seen, out))

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        await start_session(link)
        with pytest.raises(SessionExpired):
            await ask(link, "x")
        async with asyncio.timeout(BOUND_SECONDS):
            assert "session" in await link.wait_closed()
        with pytest.raises(SessionExpired):
            await link.notify("n", b"{}", LEGACY)
    assert script.of("DELETE") == []


@pytest.mark.parametrize("status", [200, 204, 405, 500])
async def test_closing_ends_the_session_and_minds_no_answer(client: httpx2.AsyncClient, status: int) -> None:
    async def answer(seen: Seen, out: Out) -> None:
        await (out.send(status) if seen.method == "DELETE" else answer_ok(seen, out))

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        await start_session(link)
    assert [seen.headers["mcp-session-id"] for seen in script.of("DELETE")] == ["s-1"]


async def test_closing_a_session_whose_server_is_gone_is_quiet(
    client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(unused_address(), client) as link:
        link._session_id = "s-1"

    assert [line for line in caplog.records if line.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_a_notification_is_taken_with_any_success(client: httpx2.AsyncClient, status: int) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(status)

    script = Script(answer)
    async with serve(script) as base, opened(base, client) as link:
        await link.notify("n/x", b'{"a":1}', LEGACY)
    assert [seen.message for seen in script.seen] == [{"jsonrpc": "2.0", "method": "n/x", "params": {"a": 1}}]


@pytest.mark.parametrize(("status", "kind"), [(401, AuthenticationFailed), (500, ToolcribError), (404, RpcError)])
async def test_a_refused_notification_says_why(client: httpx2.AsyncClient, status: int, kind: type[Exception]) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(status)

    async with serve(Script(answer)) as base, opened(base, client) as link:
        with pytest.raises(kind):
            await link.notify("n", b"{}", LEGACY)
