"""T12: what is small and unfolds to too much costs a refusal; what two parsers would read differently is refused, too."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from bench.process import peak_megabytes, resident_megabytes
from tests.fakes import FakeServer, text, tool
from tests.gateways import read_counter
from tests.journeys.stdio_gateway import LineClient, Workshop, line_failure
from tests.processor_time import within
from tests.registry.bundles import MANIFEST
from tests.threats.remote_server import remote_server
from tests.upstream.http_servers import Out, Seen, serve
from toolcrib.model.call import ExecutionResult
from toolcrib.registry.bundle import open_bundle
from toolcrib.registry.recipe import Refused
from toolcrib.wire import jsonrpc

TWICE = (
    b'{"path":"/safe","path":"/etc/passwd"}',
    b'{"path" :"/safe","path":"/etc/passwd"}',
    b'{"path":"/safe","\\u0070ath":"/etc/passwd"}',
    b'{"options":[{"force":false,"note":"a\\":b","force":true}]}',
)

DIGITS = b"7" * 3_000_000
NUMBERS = (DIGITS, b"-%b" % DIGITS, b"1" + b"0" * 5_000, b"1e999", b"NaN", b"Infinity")
LEVELS = 100_000
DEEP = b"[" * LEVELS + b"]" * LEVELS
SECONDS = 1.0

# Memory is read from /proc.
ON_LINUX = sys.platform == "linux"
GZIP, MEGABYTE, UNPACKED, MOST_MEGABYTES = 31, 1024 * 1024, 300, 100.0


async def test_t12_what_two_parsers_would_read_differently_is_refused(workshop: Workshop) -> None:
    files = workshop.scripted("files")
    workshop.configure({"files": files})
    async with workshop.lines() as client:
        await client.initialize()
        assert "isError" not in await client.execute(0, "files", "echo", text="once", more={"text": 'a":b'})
        for number, arguments in enumerate(TWICE, 1):
            asked = (
                b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_tool","arguments":' % number
            )
            client.send(asked + b'{"server":"files","tool":"echo","arguments":%b}}}' % arguments)
            refused = line_failure((await client.answer(number))["result"])
            assert (refused["code"], "twice" in json.dumps(refused)) == ("TOOL_VALIDATION_ERROR", True)
        await client.leave()

    assert len(files.received("tools/call")) == 1


async def test_t12_a_parameter_in_two_spellings_is_refused() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "Mode": {}, "mode": {}}}
    server = FakeServer("files", [{"name": "read", "inputSchema": schema}])
    async with read_counter(server) as gateway:
        for given in ({"path": "/safe", "Path": "/etc/passwd"}, {"PATH": "/etc/passwd", "path": "/safe"}):
            refused = await gateway.execute_tool("files", "read", given)
            assert refused.error is not None
            assert refused.error.code == "TOOL_VALIDATION_ERROR"
        for fine in ({"path": "/a", "Mode": 1, "mode": 2}, {"Path": "/a"}, {"path": "/a", "env": {"A": 1, "a": 2}}):
            assert (await gateway.execute_tool("files", "read", fine)).success
    assert len(server.calls) == 3


async def test_t12_numbers_without_end_cost_a_refusal_and_nothing_else(workshop: Workshop) -> None:
    files = workshop.scripted("files")
    workshop.configure({"files": files})
    async with workshop.lines() as client:
        await client.initialize()
        for number in NUMBERS:
            refused = await said_to(client, b'{"anything":%b}' % number)
            assert refused["error"]["code"] in (jsonrpc.PARSE_ERROR, jsonrpc.INVALID_PARAMS)
        assert await client.leave() == 0
    assert files.received("tools/call") == []


async def test_t12_levels_without_end_cost_a_refusal_and_nothing_else(workshop: Workshop) -> None:
    files = workshop.scripted("files")
    workshop.configure({"files": files})
    async with workshop.lines() as client:
        await client.initialize()
        for deep in (DEEP, b'{"a":' * LEVELS + b"1" + b"}" * LEVELS, b"[" * LEVELS):
            refused = await said_to(client, b'{"anything":%b}' % deep)
            assert refused["error"]["code"] == jsonrpc.PARSE_ERROR
        assert await client.leave() == 0
    assert files.received("tools/call") == []


async def said_to(client: LineClient, arguments: bytes) -> dict[str, Any]:
    """The answer to a call with these arguments, of which perhaps not even the id can be read; the session goes on."""
    before = len(client.messages)
    asked = b'{"server":"files","tool":"fail","arguments":%b}' % arguments
    client.send(
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_tool","arguments":%b}}'
        % (before, asked)
    )
    async with asyncio.timeout(5 * SECONDS):
        await client.until(lambda: len(client.messages) > before)
    answer = client.messages[before]
    assert (await client.ask(f"ping {before}", "ping"))["result"] == {}
    return answer


@pytest.mark.parametrize("place", ['"structuredContent":%b', '"content":[{"type":"text","text":"words","_meta":%b}]'])
async def test_t12_levels_without_end_in_an_answer_end_its_call(place: str) -> None:
    outcome = await answered(b'{"content":[],%b}' % (place.encode() % DEEP))
    assert outcome.error is not None
    assert outcome.error.message.startswith("the server sent a malformed answer: ")


async def test_t12_levels_without_end_in_a_text_are_a_text() -> None:
    outcome = await answered(b'{"content":[{"type":"text","text":"%b"}]}' % DEEP)
    assert outcome.value == DEEP.decode()


async def test_t12_digits_without_end_in_an_answer_cost_no_second() -> None:
    with within(SECONDS):
        outcome = await answered(b'{"content":[{"type":"text","text":"words","size":%b}]}' % DIGITS)
    assert outcome.value == "words"


async def answered(result: bytes) -> ExecutionResult:
    """What becomes of a call that is answered with these very bytes."""

    async def work(_: dict[str, Any]) -> dict[str, Any]:
        (link,) = server.open_links
        link.feed(jsonrpc.response(max(link._answering), result))
        return await asyncio.get_running_loop().create_future()

    server = FakeServer("bombs", [tool("work")], methods={"tools/call": work})
    async with read_counter(server, call_timeout_seconds=2) as gateway:
        return await gateway.execute_tool("bombs", "work", {})


async def test_t12_what_is_nested_too_deep_is_left_out_and_refused() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = {"items": deep}
    server = FakeServer(
        "files", [tool("deep", inputSchema={"type": "object", "properties": {"a": deep}}), tool("flat")]
    )
    async with read_counter(server) as gateway:
        assert [one.name for one in await gateway.list_tools("files")] == ["flat"]
        refused = await gateway.execute_tool("files", "flat", {"a": deep})
        assert refused.error is not None
        assert refused.error.code == "TOOL_VALIDATION_ERROR"
    assert server.calls == []


async def test_t12_a_small_answer_that_unpacks_to_hundreds_of_megabytes_is_given_up(workshop: Workshop) -> None:
    async def explode(seen: Seen, out: Out) -> None:
        before, after = seen.answer({**text("x"), "resultType": "complete"}).split(b"x", 1)
        packing = zlib.compressobj(1, wbits=GZIP)
        parts = [packing.compress(piece) for piece in (before, *[b"x" * MEGABYTE] * UNPACKED, after)]
        packed = b"".join([*parts, packing.flush()])
        assert len(packed) < 2 * MEGABYTE
        await out.send(200, packed, content_encoding="gzip")

    bomb = remote_server(explode)
    async with serve(bomb) as url:
        workshop.configure({"files": workshop.scripted("files"), "bomb": {"url": f"{url}/mcp"}})
        async with workshop.lines() as client:
            await client.initialize()
            assert "isError" not in await client.execute("before", "files", "echo", text="here")
            # So that its tools are known, and what that takes is not counted.
            assert "isError" in await client.execute("unknown", "bomb", "other")
            before = resident_megabytes(client.process.pid) if ON_LINUX else 0.0
            refused = line_failure(await client.execute("bomb", "bomb", "work"))
            grown = peak_megabytes(client.process.pid) - before if ON_LINUX else 0.0
            assert "isError" not in await client.execute("after", "files", "echo", text="here")
            await client.leave()

    assert "an answer is larger than 10485760 bytes" in refused["message"]
    assert grown < MOST_MEGABYTES


def test_t12_a_bundle_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", json.dumps(MANIFEST))
        archive.writestr("server/index.js", "serve()")
        archive.getinfo("server/index.js").file_size = 600 * MEGABYTE
    content = buffer.getvalue()

    with pytest.raises(Refused, match="unpacks to more than is allowed"):
        open_bundle(content, hashlib.sha256(content).hexdigest(), tmp_path / "atlas", "atlas")
    assert list(tmp_path.iterdir()) == []
