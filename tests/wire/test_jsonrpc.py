from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET

from toolcrib.model.clean_text import clean_words, cleaned
from toolcrib.wire import jsonrpc
from toolcrib.wire.jsonrpc import INVALID_REQUEST, PARSE_ERROR, BadMessage

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)
IDS = st.integers() | TEXT
METHODS = st.from_regex(r"[a-z]+(/[a-zA-Z_]+)*", fullmatch=True)
FRAGMENTS = st.sampled_from(
    [
        *(b"{", b"}", b"[", b"]", b":", b",", b'"', b" ", b"\\", b"\xff", b"\xc3", b"\x00", b"1", b"-", b"1e999"),
        *(b"null", b"true", b"NaN", b'"\\ud800"', b'"\xff"', b'"\\udc00x"', b"9" * 5000, b"1.5", b'""', b"{}"),
        *(b'"jsonrpc":"2.0"', b'"id":1', b'"id":{}', b'"method":"x"', b'"method":"\\ud800"', b'"method":7'),
        *(b'"params":', b'"result":', b'"error":', b'"id":', b'"jsonrpc":', b"[" * 3000, b"]" * 3000),
    ]
)
MEMBERS = st.tuples(
    st.sampled_from([b"jsonrpc", b"id", b"method", b"params", b"result", b"error", b"other", b"\\ud800", b"\xff"]),
    st.sampled_from(
        [b'"2.0"', b'"\\ud800"', b'"\xff"', b"1", b"1e999", b"-1.5", b"null", b"true", b"{}", b"[]", b'"x"']
    ),
)


def told(line: bytes) -> tuple[int, Any]:
    """The code and the id with which a bad line is to be answered."""
    with pytest.raises(BadMessage) as caught:
        jsonrpc.decode(line)
    return caught.value.code, caught.value.id


@given(IDS, METHODS, VALUES)
def test_a_request_comes_out_as_it_went_in(id: int | str, method: str, params: Any) -> None:
    text = json.dumps(params).encode()
    message = jsonrpc.decode(jsonrpc.request(id, method, text))

    assert (message.id, message.method, message.params_json) == (id, method, text)
    assert message.is_request


@given(METHODS, VALUES)
def test_a_notification_comes_out_as_it_went_in(method: str, params: Any) -> None:
    text = json.dumps(params, ensure_ascii=False).encode()
    message = jsonrpc.decode(jsonrpc.notification(method, text))

    assert (message.id, message.method, message.params_json) == (UNSET, method, text)
    assert not message.is_request
    assert not message.is_request


@given(IDS, VALUES)
def test_a_result_keeps_its_very_text(id: int | str, result: Any) -> None:
    text = json.dumps(result, indent=2).encode()
    message = jsonrpc.decode(jsonrpc.response(id, text))

    assert message.id == id
    assert message.result is not UNSET
    assert bytes(message.result) == text
    assert not message.is_request


@given(st.none() | IDS, st.integers(-(2**53), 2**53), TEXT, VALUES)
def test_an_error_comes_back_as_the_exception_it_was_with_nothing_hidden_in_it(
    id: Any, code: int, text: str, data: Any
) -> None:
    message = jsonrpc.decode(jsonrpc.error_response(id, code, text, data))
    assert message.error is not UNSET
    error = jsonrpc.rpc_error(bytes(message.error))

    assert message.id == id
    assert (error.code, error.message, str(error)) == (code, clean_words(text), clean_words(text))
    assert json.dumps(error.data) == json.dumps(cleaned(data))


def test_a_missing_params_is_an_empty_object() -> None:
    assert jsonrpc.decode(b'{"jsonrpc":"2.0","method":"ping","id":"a"}').params_json == b"{}"


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b" ", b"\x00", b"\xff\xfe", b"hello", b"{", b'{"jsonrpc":"2.0","id":7', b"{} {}", b"{,}"),
        b"{'jsonrpc':'2.0'}",
        b'{"jsonrpc":"2.0","id":1,"result":NaN}',
        b'{"jsonrpc":"2.0","id":1,"result":{"a":"\x01"}}',
        b'{"jsonrpc":"2.0","id":1,"params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_not_json_is_a_parse_error(line: bytes) -> None:
    assert told(line) == (PARSE_ERROR, None)


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b"[]", None),
        (b"null", None),
        (b'"text"', None),
        (b"{}", None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', None),
        (b'{"id":5,"method":"x"}', 5),
        (b'{"jsonrpc":"1.0","id":"a","method":"x"}', "a"),
        (b'{"jsonrpc":2,"id":5,"method":"x"}', 5),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', 5),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}', None),
        (b'{"jsonrpc":"2.0","method":"\\ud800","id":{}}', None),
        (b'["\xff"]', None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request_to_the_id_it_carries(line: bytes, id: Any) -> None:
    assert told(line) == (INVALID_REQUEST, id)


def test_a_lone_surrogate_is_mended_where_we_look() -> None:
    message = jsonrpc.decode(
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"a\\udc00b","params":{"k":[1,"\\ud83d\\ude00"]}}'
    )

    assert (message.id, message.method) == ("?", "a?b")
    assert json.loads(message.params_json) == {"k": [1, "😀"]}


@pytest.mark.parametrize("part", ["params", "result", "error"])
def test_broken_utf8_is_mended_also_in_what_is_only_relayed(part: str) -> None:
    message = jsonrpc.decode(b'{"jsonrpc":"2.0","id":1,"%b":{"t":"caf\xe9","n":12345678901234567890}}' % part.encode())

    assert json.loads(bytes(getattr(message, part))) == {"t": "caf\ufffd", "n": 12345678901234567890}


@pytest.mark.parametrize(
    "around",
    [
        b'{"jsonrpc":"2.0","id":{},"result":[%b]}',
        b'{"jsonrpc":"2.0","id":1,"result":["\xff",%b]}',
        b'{"jsonrpc":"2.0","method":"\\ud800","params":[%b]}',
        b'{"jsonrpc":"2.0","method":7,"params":[%b]}',
        b"[%b",
    ],
)
def test_a_huge_broken_message_is_not_decoded_as_a_whole(around: bytes) -> None:
    line = around % b",".join([b"{}"] * 700_000)
    tracemalloc.start()
    try:
        decode_or_refuse(line)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Decoded, it would be fifty times as large.
    assert peak < 8 * len(line)


def test_a_huge_error_keeps_its_code_and_message() -> None:
    error = jsonrpc.rpc_error(b'{"code":-32000,"message":"no","data":[%b]}' % b",".join([b"{}"] * 700_000))

    assert (error.code, error.message, error.data) == (-32000, "no", None)


@given(st.binary() | st.lists(FRAGMENTS, max_size=12).map(b"".join))
@example(b'{"jsonrpc":"2.0","method":"\\ud800","params":1e999}')
@example(b'{"jsonrpc":"2.0","method":"\\ud800","id":{}}')
def test_any_bytes_are_a_message_or_a_bad_message(line: bytes) -> None:
    decode_or_refuse(line)


@given(st.lists(MEMBERS, max_size=8))
def test_any_object_is_a_message_or_a_bad_message(members: list[tuple[bytes, bytes]]) -> None:
    decode_or_refuse(b"{%b}" % b",".join(b'"%b":%b' % member for member in members))


def decode_or_refuse(line: bytes) -> None:
    try:
        outcome: jsonrpc.Message | BadMessage = jsonrpc.decode(line)
    except BadMessage as problem:
        outcome = problem
    if isinstance(outcome, BadMessage):
        assert outcome.code in {PARSE_ERROR, INVALID_REQUEST}
        assert isinstance(jsonrpc.error_response(outcome.id, outcome.code, str(outcome)), bytes)
    else:
        assert outcome.jsonrpc == "2.0"


@given(st.binary() | VALUES.map(lambda value: json.dumps(value).encode()))
@example(b"[" * 100_000 + b"]" * 100_000)
@example(b'{"code":1,"message":"\\ud800"}')
@example(b'{"code":true,"message":5}')
def test_any_error_member_gives_an_exception_to_raise(error: bytes) -> None:
    problem = jsonrpc.rpc_error(error)

    assert type(problem.code) is int
    assert isinstance(problem.message, str)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_message_is_one_line_however_its_json_was_written(end: bytes) -> None:
    line = jsonrpc.line_of(b'{"id":1,"result":', b'{"a":%b[1]%b}' % (end, end), b"}")
    assert (line.count(b"\n"), line.count(b"\r"), line.endswith(b"}\n")) == (1, 0, True)
    assert json.loads(line) == {"id": 1, "result": {"a": [1]}}
