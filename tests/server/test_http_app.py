"""The HTTP face: what it passes on unchanged, what it refuses, and how it listens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.http_gateway import write_config
from tests.journeys.odd_messages import MODERN_META
from tests.server.http_face import ACCEPT, TOKEN, http_face
from tests.upstream.http_servers import Out, Script, Seen, serve

pytestmark = pytest.mark.parametrize("era", ["legacy", "modern"])

ODD_RESULT = {
    "content": [{"type": "text", "text": "snowman \u2603, null byte \u0000", "unknown": None}],
    "structuredContent": {"nothing": None, "whole": 1.0, "big": 12345678901234567890, "tiny": 1e-320, "": [[]]},
    "novelty": {"kept": True},
}
NO_ARGUMENT = {"name": "a", "value": "b"}
ODD_EVENTS = [
    ("notifications/message", {"level": "verbose", "data": {"n": None}, "logger": None, "extra": 1}),
    ("notifications/progress", {"progress": 1, "total": "many", "_meta": {"a/b": 1}, "more": None}),
]


class OddServer:
    """A server of the newest revision that says what the SDK's models would not let pass."""

    async def __call__(self, seen: Seen, out: Out) -> None:
        if seen.rpc == "tools/call":
            token = seen.message["params"]["_meta"].get("progressToken")
            await out.start()
            for method, params in ODD_EVENTS:
                named = {"progressToken": token} if method.endswith("progress") else {}
                notice = {"jsonrpc": "2.0", "method": method, "params": {**params, **named}}
                await out.event(json.dumps(notice).encode())
            await out.event(seen.answer(ODD_RESULT | {"resultType": "complete"}))
            await out.end()
            return
        results = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
            "tools/list": {"tools": [{"name": "odd", "inputSchema": {"type": "object"}}]},
        }
        await out.send(200, seen.answer({**results[seen.rpc], "resultType": "complete"}))


async def test_a_result_and_its_events_pass_as_the_server_said_them(tmp_path: Path, era: str) -> None:
    async with serve(Script(OddServer())) as upstream:
        config = write_config(tmp_path, {"odd": {"url": upstream}}, results="passthrough")
        async with http_face(config) as face:
            client = await face.open(era)
            logs = {"io.modelcontextprotocol/logLevel": "debug"} if era == "modern" else {}
            log, progress, answer = await client.execute("odd", "odd", {}, progressToken="ours", **logs)
    assert (log["method"], log["params"]) == ODD_EVENTS[0]
    assert (progress["method"], progress["params"]) == (ODD_EVENTS[1][0], {**ODD_EVENTS[1][1], "progressToken": "ours"})
    result = {name: value for name, value in answer["result"].items() if name not in ("resultType", "_meta")}
    assert result == ODD_RESULT
    assert isinstance(result["structuredContent"]["whole"], float)


async def test_the_callers_own_meta_is_passed_on_and_the_hops_is_not(tmp_path: Path, era: str) -> None:
    script = Script(OddServer())
    async with serve(script) as upstream, http_face(write_config(tmp_path, {"odd": {"url": upstream}})) as face:
        client = await face.open(era)
        await client.execute(
            "odd", "odd", {}, progressToken="ours", traceparent="00-ab-cd-01", **{"vendor.example/x": 1}
        )
    (call,) = script.of("tools/call")
    meta = call.message["params"]["_meta"]
    assert meta["traceparent"] == "00-ab-cd-01"
    assert meta["vendor.example/x"] == 1
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "toolcrib"
    assert meta["progressToken"] != "ours"
    assert "progress_token" not in meta


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("list_mcp_servers", [], "list_mcp_servers: "),
        ("list_mcp_servers", "", "list_mcp_servers: "),
        ("search_tools", 0, "search_tools: "),
    ],
)
async def test_a_call_of_the_wrong_shape_is_refused_and_not_guessed_at(
    tmp_path: Path, era: str, name: Any, arguments: Any, says: str
) -> None:
    async with http_face(write_config(tmp_path, {})) as face:
        client = await face.open(era)
        (answer,) = await client.request("tools/call", {"name": name, "arguments": arguments})
        assert answer["error"]["code"] == -32602
        assert says in answer["error"]["message"]


async def test_a_call_whose_name_is_no_text_is_refused(tmp_path: Path, era: str) -> None:
    async with http_face(write_config(tmp_path, {})) as face:
        client = await face.open(era)
        (answer,) = await client.request("tools/call", {"name": 7, "arguments": {}})
        # The newest revision asks for the name in a header, too, and finds that missing first.
        assert answer["error"]["code"] == {"legacy": -32602, "modern": -32020}[era]


async def test_an_error_repeats_nothing_that_hides_or_steers(tmp_path: Path, era: str) -> None:
    asked = [("completion/complete", {"ref": {"type": "ref/prompt", "name": "x\u202e"}, "argument": NO_ARGUMENT})]
    if era == "legacy":  # The newest revision says these in a header as well, which has no such characters.
        asked += [("prompts/get", {"name": "x\u202e"}), ("resources/read", {"uri": "x\u202e"}), ("x\u202e", {})]
    async with http_face(write_config(tmp_path, {}, native="on")) as face:
        client = await face.open(era)
        answers = [(await client.request(method, params))[-1]["error"] for method, params in asked]
    for error in answers:
        assert "x\ufffd" in json.dumps(error, ensure_ascii=False)
        assert "\u202e" not in json.dumps(error, ensure_ascii=False)


async def test_an_unknown_method_and_broken_json_are_answered_by_the_book(tmp_path: Path, era: str) -> None:
    async with http_face(write_config(tmp_path, {})) as face:
        client = await face.open(era)
        (unknown,) = await client.request("tools/steal", {})
        assert unknown["error"]["code"] == -32601
        broken = await client.post(b'{"jsonrpc": "2.0", ', **modern_headers(era))
        assert (broken.status_code, broken.json()["error"]["code"]) == (400, -32700)


async def test_a_call_without_an_id_does_not_run_the_tool_and_a_null_is_no_id(tmp_path: Path, era: str) -> None:
    script = Script(OddServer())
    async with serve(script) as upstream, http_face(write_config(tmp_path, {"odd": {"url": upstream}})) as face:
        client = await face.open(era)
        await client.execute("odd", "odd", {})
        asked = {"name": "execute_tool", "arguments": {"server": "odd", "tool": "odd", "arguments": {}}}
        headers = modern_headers(era) | ({"mcp-name": "execute_tool"} if era == "modern" else {})
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": {**asked, "_meta": MODERN_META}}
        unheard = await client.post(call, **headers)
        null = await client.post({**call, "id": None}, **headers)
        await client.execute("odd", "odd", {})
    assert unheard.status_code < 500
    assert (null.status_code, null.json()["error"]["code"], null.json()["id"]) == (400, -32600, None)
    assert len(script.of("tools/call")) == 2


async def test_a_stream_that_should_go_on_from_an_event_starts_anew(tmp_path: Path, era: str) -> None:
    async with http_face(write_config(tmp_path, {})) as face:
        client = await face.open(era)
        headers = {**credentials(), **client.session, **modern_headers(era), "last-event-id": "7"}
        async with client.http.stream("GET", client.url, headers=headers) as answer:
            # The newest revision has no such stream at all.
            assert answer.status_code == {"legacy": 200, "modern": 405}[era]


def modern_headers(era: str) -> dict[str, str]:
    return {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call"} if era == "modern" else {}


async def test_a_body_above_the_limit_is_refused_before_it_is_read(tmp_path: Path, era: str) -> None:
    async with http_face(write_config(tmp_path, {}, maxHttpBodyBytes=20_000)) as face:
        client = await face.open(era)
        fits = {"name": "search_tools", "arguments": {"query": "x" * 10_000}}
        (answer,) = await client.request("tools/call", fits)
        assert "at most 4096" in answer["error"]["message"]
        assert (await client.post(b" " * 20_001, **modern_headers(era))).status_code == 413
        assert (await client.http.post(client.url, content=in_pieces(), headers=credentials())).status_code == 413


async def test_the_limit_on_bodies_holds_for_requests_that_need_none(tmp_path: Path, era: str) -> None:
    async with http_face(write_config(tmp_path, {}, maxHttpBodyBytes=20_000)) as face:
        client = await face.open(era)
        headers = {**credentials(), **client.session, **modern_headers(era)}
        sent = await client.http.request("DELETE", client.url, content=in_pieces(), headers=headers)
        assert sent.status_code == 413


async def test_a_larger_body_is_read_once_the_limit_was_raised(tmp_path: Path, era: str) -> None:
    config = write_config(tmp_path, {}, maxHttpBodyBytes=20_000, reloadInterval=0.05)
    async with http_face(config) as face:
        client = await face.open(era)
        large = {"name": "search_tools", "arguments": {"query": "x" * 30_000}}
        assert (await client.post({"jsonrpc": "2.0", "id": 1, "params": large})).status_code == 413
        write_config(tmp_path, {}, maxHttpBodyBytes=40_000, reloadInterval=0.05)
        async with asyncio.timeout(10):
            while (await client.post(b" " * 30_000)).status_code == 413:
                pass
        (answer,) = await client.request("tools/call", large)
        assert "at most 4096" in answer["error"]["message"]


async def in_pieces() -> Any:
    for _ in range(21):
        yield b" " * 1000


class DeepServer(OddServer):
    """Nests what it says, in events and in the answer, as deep as it is asked to."""

    async def __call__(self, seen: Seen, out: Out) -> None:
        if seen.rpc != "tools/call":
            await super().__call__(seen, out)
            return
        deep: Any = "the ground"
        for _ in range(seen.message["params"]["arguments"]["levels"]):
            deep = [deep]
        told = {"level": "error", "data": deep}
        await out.start()
        await out.event(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": told}).encode())
        await out.event(seen.answer({"content": [], "structuredContent": {"deep": deep}, "resultType": "complete"}))
        await out.end()


async def test_an_answer_that_is_nested_too_deep_is_an_error_and_the_session_goes_on(tmp_path: Path, era: str) -> None:
    logs = {"io.modelcontextprotocol/logLevel": "debug"} if era == "modern" else {}
    async with serve(Script(DeepServer())) as upstream:
        config = write_config(tmp_path, {"odd": {"url": upstream}}, results="passthrough")
        async with http_face(config) as face:
            client = await face.open(era)
            for levels in (300, 800, 5000):
                (answer,) = await client.execute("odd", "odd", {"levels": levels}, **logs)
                assert "error" in answer or answer["result"].get("isError"), levels
            event, answer = await client.execute("odd", "odd", {"levels": 150}, **logs)
    assert event["method"] == "notifications/message"
    assert "the ground" in json.dumps(answer["result"]["structuredContent"])


class Chatterbox(OddServer):
    """Says forty megabytes, and then answers."""

    def __init__(self) -> None:
        self.has_said_all = asyncio.Event()

    async def __call__(self, seen: Seen, out: Out) -> None:
        if seen.rpc != "tools/call":
            await super().__call__(seen, out)
            return
        told = {"level": "error", "data": "x" * 4000}
        event = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": told}).encode()
        await out.start()
        for _ in range(10_000):
            await out.event(event)
        self.has_said_all.set()
        await out.event(seen.answer({"content": [], "structuredContent": {"all": "said"}, "resultType": "complete"}))
        await out.end()


async def test_what_a_client_does_not_read_is_not_kept_without_end(tmp_path: Path, era: str) -> None:
    chatterbox = Chatterbox()
    logs = {"io.modelcontextprotocol/logLevel": "debug"} if era == "modern" else {}
    async with serve(Script(chatterbox)) as upstream:
        config = write_config(tmp_path, {"odd": {"url": upstream}}, results="passthrough")
        async with http_face(config) as face:
            client = await face.open(era)
            client.http = Unread(client.http, chatterbox.has_said_all)
            *events, answer = await client.execute("odd", "odd", {}, **logs)
    assert answer["result"]["structuredContent"] == {"all": "said"}
    assert 100 < len(events) < 8_000


class Unread:
    """A client that begins to read an answer only when it is told to."""

    def __init__(self, http: httpx2.AsyncClient, may_read: asyncio.Event) -> None:
        self._http = http
        self._may_read = may_read

    async def post(self, url: str, **options: Any) -> httpx2.Response:
        async with asyncio.timeout(30), self._http.stream("POST", url, **options) as response:
            await self._may_read.wait()
            await response.aread()
            return response


def credentials() -> dict[str, str]:
    return {**ACCEPT, "authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"])
async def test_what_a_web_form_can_send_is_refused(tmp_path: Path, era: str, content_type: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with http_face(write_config(tmp_path, {})) as face:
        client = await face.open(era)
        headers = {**modern_headers(era), "content-type": content_type}
        assert 400 <= (await client.post(message, **headers)).status_code < 500


async def test_a_page_of_our_own_origin_may_call(tmp_path: Path, era: str) -> None:
    async with http_face(write_config(tmp_path, {})) as face:
        own = face.url.removesuffix("/mcp")
        client = await face.open(era)
        (answer,) = await client.request("tools/call", {"name": "list_mcp_servers", "arguments": {}}, origin=own)
        assert "error" not in answer
        other = await client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, origin=f"{own}0")
        assert other.status_code == 403


async def test_a_web_page_of_an_allowed_origin_may_ask_and_call(tmp_path: Path, era: str) -> None:
    page = "https://app.example"
    config = write_config(tmp_path, {}, http={"allowedOrigins": ["https://App.example/"]})
    async with http_face(config) as face:
        client = await face.open(era)
        asking = {"origin": page, "access-control-request-method": "POST"}
        allowed = await client.http.options(
            client.url, headers={**asking, "access-control-request-headers": "authorization,mcp-session-id"}
        )
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, page)
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}
        called = await client.post(message, origin=page)
        assert called.status_code != 403
        assert called.headers["access-control-allow-origin"] == page
        stranger = await client.http.options(client.url, headers={**asking, "origin": "https://evil.example"})
        assert stranger.status_code == 403
        assert "access-control-allow-origin" not in stranger.headers
