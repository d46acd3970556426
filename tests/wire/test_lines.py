from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.wire.lines import LineSplitter

STREAMS = st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"{}", b"xyzxyz", b"\xc3", b"\x00", b" "])).map(
    b"".join
)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    """The stream in pieces, cut at any places."""
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@given(STREAMS, st.lists(st.integers(min_value=0)), st.integers(1, 12))
def test_any_chunking_of_a_stream_gives_the_same_lines(stream: bytes, places: list[int], limit: int) -> None:
    splitter = LineSplitter(limit)
    lines = [line for chunk in cut(stream, places) for line in splitter.feed(chunk)]

    pieces = stream.split(b"\n")
    assert lines == [line for piece in pieces[:-1] if len(piece) <= limit and (line := piece.rstrip(b"\r"))]
    assert splitter.dropped == sum(len(piece) > limit for piece in pieces)


def test_windows_line_ends_and_blank_lines_leave_nothing_behind() -> None:
    assert LineSplitter(100).feed(b"one\r\n\r\n\ntwo\n") == [b"one", b"two"]


def test_a_line_is_handed_out_only_when_it_is_whole() -> None:
    splitter = LineSplitter(100)

    assert splitter.feed(b"on") == []
    assert splitter.feed(b"e") == []
    assert splitter.feed(b"\ntwo") == [b"one"]


def test_a_line_over_the_limit_is_dropped_and_counted_and_the_next_one_arrives() -> None:
    splitter = LineSplitter(5)

    assert splitter.feed(b"12345\n123456\nok\n") == [b"12345", b"ok"]
    assert splitter.dropped == 1


def test_a_line_without_end_holds_no_more_than_the_limit() -> None:
    splitter = LineSplitter(1000)
    for _ in range(100):
        splitter.feed(b"x" * 100)

    assert splitter.dropped == 1
    assert sum(map(len, splitter._parts)) <= 1000
