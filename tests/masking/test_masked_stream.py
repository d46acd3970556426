"""Output in pieces: wherever it is cut, no secret comes out, and nothing else is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.masking.key_blocks import MOST_LINES
from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker
from toolcrib.masking.stream import LONGEST_LINE, MaskedStream

SECRET = "plain-lily-ü-of-the-valley"


LILY = Masker(KnownSecrets({SECRET: "${LILY}"}))


def through(pieces: list[bytes], masker: Masker = LILY) -> bytes:
    stream = MaskedStream()
    stream.masker = masker
    return b"".join([*map(stream.feed, pieces), stream.finish()])


def cut(text: bytes, places: list[int]) -> list[bytes]:
    ends = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


@given(
    st.lists(st.sampled_from([SECRET, "words ", "\n", "ü", "\r", "x"]), max_size=20), st.lists(st.integers(0, 10**6))
)
def test_a_secret_that_is_cut_in_two_is_still_found(parts, places):
    text = "".join(parts)
    assert through(cut(text.encode(), places)).decode() == text.replace(SECRET, "${LILY}")


@given(st.integers(0, 3 * len(SECRET)), st.integers(1, 4_000))
def test_also_on_a_line_without_an_end(before, piece):
    text = ("." * (LONGEST_LINE - len(SECRET) + before) + SECRET).encode() * 3
    pieces = [text[at : at + piece] for at in range(0, len(text), piece)]
    assert through(pieces) == text.replace(SECRET.encode(), b"${LILY}")


NOBODY_TOLD_US = [
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "--api-key hunter2-Xq9Zk",
    '"password": "hunter2 Xq9Zk"',
    "Authorization: Bearer hunter2-Xq9Zk",
    "postgresql://me:hunter2-Xq9Zk@db.example.com",
    "eyJ" + "hbGciOiJI" * 150 + "." + "eyJzdWIiOiIx" * 150,
]


@pytest.mark.parametrize("key", NOBODY_TOLD_US, ids=lambda key: key[:12])
def test_nor_does_a_key_that_nobody_told_us_of_come_out_on_such_a_line(key):
    for end in range(1, len(key), 1 + len(key) // 40):
        lead = f"{key}, {'.' * LONGEST_LINE} pushing with "
        pieces = [lead + key[:end], f"{key[end:]}, {'.' * LONGEST_LINE}", f"{key[:end]}", f"{key[end:]}\nnext"]
        assert through([piece.encode() for piece in pieces], Masker()).decode() == Masker()("".join(pieces))


def test_what_is_too_long_for_a_key_is_not_waited_for():
    stream = MaskedStream()
    passed_on = [stream.feed(b"sk-0" + b"x" * LONGEST_LINE) for _ in range(5)]
    assert passed_on[-1]
    assert b"".join(passed_on).startswith(b"***")


@pytest.mark.parametrize("length", [100, 1_700, 2_300, 3_300, 9_000])
def test_a_long_secret_comes_out_of_no_long_line(length):
    """One that we were told of is waited for, however long it is."""
    secret = "".join(f"{number:05x}-Lily" for number in range(length // 10))
    masker = Masker(KnownSecrets({secret: "${LILY}"}))
    text = f"{'.' * 3 * LONGEST_LINE} {secret} {'.' * 5 * LONGEST_LINE} {secret}\n".encode()
    for size in (1_000, 4_096):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert through(pieces, masker) == text.replace(secret.encode(), b"${LILY}")


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_bytes_that_are_no_text_pass_as_they_came(pieces):
    assert through(pieces) == b"".join(pieces)


def test_a_line_without_an_end_can_be_seen_before_it_is_passed_on():
    stream = MaskedStream()
    stream.masker = Masker(KnownSecrets({SECRET: "${LILY}"}))
    assert stream.feed(f"token {SECRET}".encode()) == b""
    assert stream.peek() == b"token ${LILY}"


KEY_LINES = [f"MIIEvQIBADANBgkqhkiG9w0BAQEF{number:04}" for number in range(30)]
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"])


@given(st.lists(st.integers(0, 10**6), max_size=40), st.sampled_from(["", "err: ", "{KEY} "]))
def test_a_private_key_nobody_told_us_of_is_covered_wherever_it_is_cut(places, lead):
    lines = f"before\n{lead.replace('{KEY}', KEY)}{KEY}\nafter\n"
    shown = through(cut(lines.encode(), places)).decode()
    assert not [line for line in KEY_LINES if line in shown]
    assert "PRIVATE" not in shown
    assert shown.startswith("before\n")
    assert shown.endswith("***\nafter\n")


def test_a_private_key_is_covered_line_by_line_also_where_the_rest_is_looked_at_before_it_comes():
    stream = MaskedStream()
    for line in KEY.split("\n"):
        assert stream.feed(f"{line}\n".encode()) == (b"***\n" if "BEGIN" in line else b"")
        assert (stream.peek(b"seen") == b"") == ("END" not in line)
    assert stream.feed(b"next\n") == b"next\n"


def test_who_only_speaks_of_a_key_is_heard_again_after_some_lines():
    stream = MaskedStream()
    stream.feed(b"-----BEGIN PRIVATE KEY----- is missing\n")
    heard = b"".join(stream.feed(b"line %d\n" % number) for number in range(2 * MOST_LINES))
    assert heard.startswith(b"line %d\n" % MOST_LINES)


def test_many_keys_on_a_line_take_no_longer_than_the_line():
    piece = b"-----BEGIN PRIVATE KEY-----"
    assert through([piece * 20_000 + b"\n"]).count(b"-----") == 0
