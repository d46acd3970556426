from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.upstream.stderr_ring import StderrRing, readable


def test_the_tail_is_the_last_lines_without_blank_ones() -> None:
    ring = StderrRing()
    ring.feed(b"one\r\ntwo\n\n")
    ring.feed(b"three\nfo")
    ring.feed(b"ur")

    assert ring.tail(3) == "two\nthree\nfour"
    assert ring.tail(0) == ""


def test_nothing_that_steers_a_terminal_is_shown() -> None:
    assert (
        readable(b"\x1b[31mred\x1b[0m \x1b]0;title\x07\x07bell\x00 tab\tkept \xe2\x80\xaeflip")
        == "red bell tab\tkept flip"
    )


def test_broken_text_is_replaced() -> None:
    assert readable(b"caf\xe9") == "caf\ufffd"


@given(st.lists(st.binary(max_size=300)), st.integers(1, 200))
def test_exactly_the_last_bytes_are_kept(chunks: list[bytes], size: int) -> None:
    ring = StderrRing(max_bytes=size)
    for chunk in chunks:
        ring.feed(chunk)
    ring.finish()

    assert bytes(ring._kept) == b"".join(chunks)[-size:]
    assert not set(ring.tail(10_000)) & set(map(chr, [*range(10), *range(11, 32), 127])) - {"\t"}


def test_the_file_mirrors_the_ring_and_stays_bounded(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "one.log"
    ring = StderrRing(max_bytes=1000, file=file)
    for number in range(500):
        ring.feed(f"line {number}\n".encode())
        assert file.stat().st_size <= 2000

    assert file.read_bytes().endswith(b"line 498\nline 499\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_disk_trouble_ends_the_mirror_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "logs").write_text("a file where a folder should be")
    ring = StderrRing(file=tmp_path / "logs" / "one.log")
    ring.feed(b"one\n")
    ring.feed(b"two\n")

    assert ring.tail() == "one\ntwo"
    assert len(caplog.records) == 1
