"""Whatever comes over a wire is a message, or a refusal that we know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.fuzzing import ODD_TEXT, VALUES, cut, damaged, fuzzed
from tests.processor_time import within
from toolcrib.model.call import ToolResult
from toolcrib.server.request_params import RequestParams, read_params
from toolcrib.upstream.event_stream import Event, EventDecoder, EventTooLarge, read_events
from toolcrib.upstream.http_call import messages_in
from toolcrib.upstream.list_page import UnreadableList, read_page
from toolcrib.upstream.result_form import fault_of
from toolcrib.wire import jsonrpc
from toolcrib.wire.duplicate_names import name_there_twice
from toolcrib.wire.json_arrays import items_of
from toolcrib.wire.lines import LineSplitter
from toolcrib.wire.mirrored_headers import annotation_problem, argument_headers, header_value

MESSAGES = [
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,2.5,null,true,"c"]}}}',
    b'{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"\\u00e9\\ud83d\\ude00"}],"isError":false}}',
    b'{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no","data":{"a":1}}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}',
    b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]',
    b'{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2","ttlMs":1000}',
    b'{"jsonrpc":"2.0","id":' + b"9" * 400 + b',"method":"ping"}',
]
PIECES = (
    b"[" * 300,
    b'{"a":' * 300,
    b"\\ud800",
    b"\xff\xfe",
    b"1e999",
    b"-0",
    b"9" * 5_000,
    b"NaN",
    b"\x00",
    b"\r\n\n",
    b"\xef\xbb\xbf",
)
STREAMS = [
    b'event: message\nid: 1\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
    b": keep alive\r\n\r\nretry: 99999999999999\r\nid: \x00\r\ndata\r\ndata: b\r\n\r\n",
    b"\xef\xbb\xbfdata: a\rdata: b\r\r",
    b' \n\t{"jsonrpc":"2.0","id":1,"result":{}}',
]
CUTS = st.lists(st.integers(0, 200), max_size=6)


@fuzzed(400)
@given(damaged(MESSAGES, PIECES))
def test_fuzz_a_line_is_a_message_or_a_refusal(line: bytes) -> None:
    with within():
        try:
            message = jsonrpc.decode(line)
        except jsonrpc.BadMessage as refusal:
            assert refusal.code in {jsonrpc.PARSE_ERROR, jsonrpc.INVALID_REQUEST}
            assert json.loads(jsonrpc.error_response(refusal.id, refusal.code, str(refusal)))["error"]
            return
        read_params(message.params_json)
        assert json.loads(jsonrpc.line_of(line).decode("utf-8", "replace").replace("\ufffd", "?")) is not None
    if message.error is not msgspec.UNSET:
        assert isinstance(jsonrpc.rpc_error(bytes(message.error)).message, str)


@fuzzed()
@given(damaged(MESSAGES, PIECES))
def test_fuzz_parameters_errors_and_results_of_any_form_are_read_or_refused(text: bytes) -> None:
    with within():
        params = read_params(text)
        assert params is None or isinstance(params, RequestParams)
        assert isinstance(jsonrpc.rpc_error(text), jsonrpc.RpcError)
        assert all(isinstance(one, bytes) for one in messages_in(text))
        items = items_of(text, 1_000)
        assert items is None or isinstance(items, list)
        with suppress(UnreadableList):
            read_page(text, "tools", 1_000)
        result = ToolResult(text)
        if result.is_object:
            assert isinstance(fault_of(result, "tool"), str)


@fuzzed()
@given(damaged(MESSAGES, PIECES), CUTS, st.integers(1, 300))
def test_fuzz_lines_are_the_same_however_the_bytes_come(data: bytes, places: Sequence[int], most: int) -> None:
    text = data.replace(b"}", b"}\n") + b"\n"
    whole, pieces = LineSplitter(most), LineSplitter(most)
    at_once = whole.feed(text)
    assert [line for piece in cut(text, places) for line in pieces.feed(piece)] == at_once
    assert whole.dropped == pieces.dropped
    assert all(len(line) <= most and b"\n" not in line for line in at_once)


@fuzzed()
@given(damaged(STREAMS, PIECES), CUTS)
def test_fuzz_events_are_the_same_however_the_bytes_come(data: bytes, places: Sequence[int]) -> None:
    with within():
        at_once = events_of([data])
        assert events_of(cut(data, places)) == at_once
        assert asyncio.run(read_all([data])) == asyncio.run(read_all(cut(data, places)))


def events_of(chunks: Sequence[bytes]) -> list[Event] | None:
    decoder = EventDecoder(400)
    try:
        return [*(event for chunk in chunks for event in decoder.feed(chunk)), *decoder.finish()]
    except EventTooLarge:
        return None


async def read_all(chunks: Sequence[bytes]) -> list[Event] | None:
    async def handed() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    try:
        return [event async for event in read_events(handed(), 400)]
    except EventTooLarge:
        return None


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "object", 5])}, optional={"x-mcp-header": ODD_TEXT}
    )
    | VALUES,
    lambda inner: st.fixed_dictionaries(
        {}, optional={"properties": st.dictionaries(ODD_TEXT, inner), "allOf": st.lists(inner), "items": inner}
    ),
    max_leaves=6,
)


@fuzzed()
@given(SCHEMAS, st.dictionaries(ODD_TEXT, VALUES))
def test_fuzz_no_schema_and_no_argument_makes_a_header_that_is_none(schema: Any, arguments: dict[str, Any]) -> None:
    assert isinstance(annotation_problem(schema), str)
    for name, value in argument_headers(schema, arguments).items():
        assert not set("\r\n\0: ") & set(name)
        assert value.isascii()
        assert value.isprintable()


@fuzzed()
@given(ODD_TEXT)
def test_fuzz_a_header_value_is_printable(text: str) -> None:
    assert header_value(text).isascii()
    assert header_value(text).isprintable() or not text


@fuzzed(300)
@given(VALUES, st.sampled_from([None, (",", ":"), (" , ", " : "), ("\n,", "\t:\n")]), st.booleans())
def test_fuzz_a_name_twice_is_found_and_no_other(value: Any, separators: Any, ascii_only: bool) -> None:
    try:
        text = json.dumps(value, separators=separators, ensure_ascii=ascii_only, allow_nan=False).encode()
        read = msgspec.json.decode(text)
    except (ValueError, UnicodeEncodeError):
        return
    assert name_there_twice(text, read) is None
    assert name_there_twice(b'{"a":%b,"b":1,"a":2}' % text, {"a": 2, "b": 1}) == "a"
    inner = b'[{"x":%b,"x" :%b}]' % (text, text)
    found = name_there_twice(inner, msgspec.json.decode(inner))
    assert found == "x"
