from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker
from toolcrib.masking.stream import LONGEST_LINE
from toolcrib.upstream.stderr_ring import LONGEST_LINE_BYTES, RING_BYTES, StderrRing


def test_the_tail_is_the_last_lines_without_blank_ones() -> None:
    ring = StderrRing()
    ring.feed(b"one\r\ntwo\n\n")
    ring.feed(b"three\nfo")
    ring.feed(b"ur")

    assert ring.tail(3) == "two\nthree\nfour"
    assert ring.tail(0) == ""


def test_nothing_that_steers_a_terminal_is_kept_and_what_was_taken_out_shows(tmp_path: Path) -> None:
    ring = StderrRing(file=tmp_path / "one.log")
    ring.feed(b"\x1b[31mred\x1b[0m \x1b]0;title\x07\x07bell\x00 tab\tkept \xe2\x80\xaeflip\n")

    cleaned = "red \ufffd]0;title\ufffd\ufffdbell\ufffd tab    kept \ufffdflip"
    assert ring.tail() == cleaned
    assert (tmp_path / "one.log").read_text("utf-8") == f"{cleaned}\n"


def test_a_line_that_a_program_writes_over_itself_is_several() -> None:
    ring = StderrRing()
    ring.feed(b"10 %\r50 %\rdone\r\nnext\r\n")

    assert ring.tail() == "10 %\n50 %\ndone\nnext"


def test_broken_text_is_replaced() -> None:
    ring = StderrRing()
    ring.feed(b"caf\xe9")

    assert ring.tail() == "caf\ufffd"


def test_a_character_or_a_code_in_two_pieces_is_seen_as_one(tmp_path: Path) -> None:
    ring = StderrRing(file=tmp_path / "one.log")
    for piece in (b"na\xc3", b"\xafve \x1b", b"[3", b"1mred\n", b"the ", b"end"):
        ring.feed(piece)
    ring.finish()

    assert (tmp_path / "one.log").read_text("utf-8") == "naïve red\nthe end\n"


@given(st.lists(st.binary(max_size=300)), st.integers(20, 200))
def test_no_more_than_the_last_bytes_are_kept_and_none_of_them_does_harm(chunks: list[bytes], size: int) -> None:
    ring = StderrRing(max_bytes=size)
    for chunk in chunks:
        ring.feed(chunk)
    ring.finish()

    assert len(ring._kept) <= size
    assert not set(ring.tail(10_000)) & set(map(chr, [*range(10), *range(11, 32), 127]))


def test_a_line_without_end_is_kept_in_pieces() -> None:
    ring = StderrRing()
    for _ in range(100):
        ring.feed(b"x" * 1000)

    assert len(ring._begun) <= LONGEST_LINE_BYTES
    assert RING_BYTES <= len(ring.tail()) <= RING_BYTES + LONGEST_LINE_BYTES + LONGEST_LINE


@pytest.mark.parametrize("before_the_cut", [1, 8, 15])
def test_a_secret_that_falls_on_the_end_of_what_is_kept_leaves_no_half(tmp_path: Path, before_the_cut: int) -> None:
    ring = StderrRing(file=tmp_path / "one.log")
    ring.mask_with(Masker(KnownSecrets({"plain-lily-one-two": "${LILY}"})))
    ring.feed(b"refused plain-lily-one-two")
    rest = (b"\n" + b"y" * 63) * 2_000
    ring.feed(rest[: RING_BYTES - before_the_cut - 1] + b"\n")

    assert "one-two" not in ring.tail(5_000)
    assert "two" not in (tmp_path / "one.log").read_text("utf-8")
    assert len(ring._kept) == RING_BYTES


def test_an_unknown_private_key_is_covered_line_by_line(tmp_path: Path) -> None:
    ring = StderrRing(file=tmp_path / "one.log")
    lines = ("-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEF", "AASCBKcwgg==", "-----END PRIVATE KEY-----")
    for line in ("first", *lines, "last"):
        ring.feed(f"{line}\n".encode())

    assert ring.tail() == "first\n***\nlast"
    assert (tmp_path / "one.log").read_text("utf-8") == "first\n***\nlast\n"


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
