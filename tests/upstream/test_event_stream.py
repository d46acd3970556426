from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.upstream.event_stream import Event, EventDecoder, EventTooLarge, read_events

LIMIT = 10_000
LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1).map(str.encode)


def decode(*chunks: bytes, limit: int = LIMIT) -> list[Event]:
    decoder = EventDecoder(limit)
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.finish()]


async def read(*chunks: bytes, limit: int = LIMIT) -> list[Event]:
    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [event async for event in read_events(body(), limit)]


def cut(whole: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(whole), *(place % (len(whole) + 1) for place in at)})
    return [whole[start:end] for start, end in pairwise(places)]


@given(st.lists(st.lists(LINES, min_size=1), min_size=1), LINE_ENDS, st.lists(st.integers(0, 10_000)))
def test_events_are_the_same_however_the_bytes_are_cut(events: list[list[bytes]], end: bytes, at: list[int]) -> None:
    whole = b"".join(b"".join(b"data: " + line + end for line in lines) + end for lines in events)
    found = decode(*cut(whole, at), limit=1_000_000)
    assert [event.data for event in found] == [b"\n".join(lines) for lines in events]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_any_bytes_are_read_without_a_fault(junk: bytes, at: list[int]) -> None:
    assert decode(*cut(junk, at)) == decode(junk)


def test_an_event_carries_its_name_the_last_id_and_the_retry_time() -> None:
    assert decode(b"event: endpoint\nid: 7\nretry: 1500\ndata: /x\n\ndata:y\n\n") == [
        Event(b"/x", "endpoint", "7", 1.5),
        Event(b"y", "message", "7", None),
    ]


def test_comments_unknown_fields_and_blank_lines_are_passed_over() -> None:
    assert decode(b"\n\n: ping\n\nnonsense\nfoo: bar\n\ndata: x\n\n") == [Event(b"x")]


def test_an_event_with_only_an_id_is_given_so_that_a_stream_can_be_resumed_from_it() -> None:
    assert decode(b"id: 1\ndata:\n\n") == [Event(b"", id="1")]


def test_an_event_cut_off_at_the_end_is_given_but_its_id_does_not_count() -> None:
    assert decode(b"id: 1\ndata: a\n\nid: 2\ndata: b") == [Event(b"a", id="1"), Event(b"b", id="1")]


def test_an_id_that_no_header_can_carry_is_forgotten() -> None:
    assert decode(b"id: caf\xc3\xa9\ndata: a\n\n") == [Event(b"a")]


def test_a_byte_order_mark_is_not_part_of_the_first_field() -> None:
    assert decode(b"\xef\xbb\xbfdata: a\n\n") == [Event(b"a")]


@pytest.mark.parametrize("chunks", [[b"data: " + b"x" * 50], [b"data: " + b"x" * 30 + b"\n"] * 2, [b"x" * 10] * 5])
def test_an_event_over_the_limit_is_refused_before_it_is_complete(chunks: list[bytes]) -> None:
    with pytest.raises(EventTooLarge):
        decode(*chunks, limit=40)


def test_many_events_may_together_be_larger_than_the_limit() -> None:
    assert len(decode(b"data: 123456789\n\n" * 100, limit=40)) == 100


async def test_a_json_body_is_one_event_whatever_comes_before_it() -> None:
    assert await read(b"  \r\n", b"\xef\xbb\xbf{", b'"a":1}') == [Event(b'{"a":1}')]


async def test_a_body_that_is_not_json_is_read_as_events() -> None:
    assert await read(b"\n", b'data: {"a"', b":1}\n\n") == [Event(b'{"a":1}')]


@pytest.mark.parametrize("chunks", [[b" " * 50], [b"{" + b" " * 50], [b"{", b" " * 50]])
async def test_a_json_body_over_the_limit_is_refused(chunks: list[bytes]) -> None:
    with pytest.raises(EventTooLarge):
        await read(*chunks, limit=40)


async def test_an_empty_body_holds_no_event() -> None:
    assert await read() == []
