"""A known secret is found however an encoder has written it: what these encoders do is not taken from our own code."""

from __future__ import annotations

import base64
import html
import json
import textwrap
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.masking.everyday import is_everyday
from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker
from toolcrib.masking.stream import LONGEST_LINE, MaskedStream

# Characters that encoders treat differently, and those that make escapes.
TROUBLESOME = "\\%&;/<>\"'+ =~!*()#$@:,?|\n\tuxU0041aAzé\u2028😀."
secrets = (
    st.text(TROUBLESOME, min_size=6, max_size=30)
    .filter(lambda text: len(text.strip()) >= 6 and text.strip("*"))
    .filter(lambda text: not is_everyday(text))
)


def replaced(text: str, **names: str) -> str:
    for character, escape in names.items():
        text = text.replace(CHARACTERS[character], escape)
    return text


CHARACTERS = {"slash": "/", "and_": "&", "less": "<", "more": ">", "is_": "=", "quote": "'"}


def in_json(text: str, *, ascii_only: bool = True) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def in_go(text: str) -> str:
    return replaced(in_json(text, ascii_only=False), and_="\\u0026", less="\\u003c", more="\\u003e")


def in_gson(text: str) -> str:
    return replaced(in_go(text), is_="\\u003d", quote="\\u0027")


def in_php(text: str) -> str:
    return replaced(in_json(text), slash="\\/")


def in_c_sharp(text: str) -> str:
    """Each character that is not plain, in capital letters."""
    units = (text[at : at + 1] for at in range(len(text)))
    return "".join(unit if unit.isalnum() and unit.isascii() else utf_16(unit) for unit in units)


def utf_16(character: str) -> str:
    raw = character.encode("utf-16-be")
    return "".join(f"\\u{raw[at : at + 2].hex().upper()}" for at in range(0, len(raw), 2))


ENCODERS: dict[str, Callable[[str], str]] = {
    "JSON": in_json,
    "JSON in UTF-8": lambda text: in_json(text, ascii_only=False),
    "PHP": in_php,
    "Go": in_go,
    "Gson": in_gson,
    "C#": in_c_sharp,
    "each character in JSON": lambda text: "".join(map(utf_16, text)),
    "JSON in JSON": lambda text: in_json(in_json(text)),
    "PHP's JSON in Go's": lambda text: in_go(in_php(text)),
    "Python": lambda text: repr(text)[1:-1],
    "urllib quote": quote,
    "urllib quote, all": lambda text: quote(text, safe=""),
    "urllib quote_plus": quote_plus,
    "encodeURIComponent": lambda text: quote(text, safe="!*'()~"),
    "encodeURI": lambda text: quote(text, safe=";,/?:@&=+$-_.!~*'()#"),
    "URLSearchParams": lambda text: quote_plus(text, safe="*").replace("~", "%7E"),
    "small hexadecimal": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "html.escape": html.escape,
    "html.escape without quotes": lambda text: html.escape(text, quote=False),
    "numbers in HTML": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "hexadecimal in HTML": lambda text: "".join(f"&#x{ord(character):X};" for character in text),
}


def masker_of(secret: str) -> Masker:
    return Masker(KnownSecrets({secret: "${NAME}"}))


@pytest.mark.parametrize("encoder", ENCODERS)
@given(secret=secrets)
def test_a_known_secret_is_covered_whoever_has_escaped_it(encoder: str, secret: str) -> None:
    written = ENCODERS[encoder](secret)
    assert masker_of(secret).known.masked(f"before {written} after") == "before ${NAME} after"


@pytest.mark.parametrize("encoder", ["JSON", "JSON in UTF-8", "PHP", "Go", "Gson", "C#", "each character in JSON"])
@given(secret=secrets.filter(lambda text: not text.isdigit()), key=st.booleans())
def test_no_escape_hides_a_secret_in_json(encoder: str, secret: str, key: bool) -> None:
    text = f'"say {ENCODERS[encoder](secret)} now"'
    raw = f'{{"a":{text}}}' if not key else f"{{{text}:1}}"
    covered = json.loads(masker_of(secret).json(raw.encode()))
    assert covered == ({"a": "say ${NAME} now"} if not key else {"say ${NAME} now": 1})


@pytest.mark.parametrize("columns", [64, 76])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n    "])
@given(before=st.binary(max_size=8), secret=st.text(min_size=80, max_size=300), after=st.binary(max_size=8))
def test_base64_on_several_lines_is_covered(columns, end, before, secret, after):
    lines = textwrap.wrap(base64.b64encode(before + secret.encode() + after).decode(), columns)
    for text in (end.join(lines), json.dumps("\n".join(lines))):
        assert len(masker_of(secret).known.masked(text)) < len("${NAME}") + 50


@given(st.text(TROUBLESOME, max_size=200), secrets)
def test_text_without_the_secret_stays_as_it_is_with_all_its_escapes(text, secret):
    masker = masker_of(secret)
    if "${NAME}" not in (shown := masker.known.masked(text)) and "***" not in shown:
        assert shown == text


@given(st.integers(0, 200), st.integers(300, 3_000))
def test_an_escaped_secret_on_a_line_without_an_end_is_found_wherever_it_is_cut(before, piece):
    secret = "plain lily/of&the<valley>"
    text = ("." * (LONGEST_LINE - 40 + before) + in_gson(secret)).encode() * 2
    stream = MaskedStream()
    stream.masker = masker_of(secret)
    through = b"".join(stream.feed(text[at : at + piece]) for at in range(0, len(text), piece)) + stream.finish()
    assert through == text.replace(in_gson(secret).encode(), b"${NAME}")


def test_json_with_escapes_and_without_a_secret_is_given_back_as_it_came():
    raw = b'{"a": "caf\\u00e9 \\/ 50%20 &amp; \\ud83d\\ude00", "n": 1.10}'
    assert masker_of("plain-lily").json(raw) is raw


@pytest.mark.parametrize(
    "piece", ["\\", "\\u00", "%", "%4", "&", "&a", "\n ", "a" * 60 + "\n", "\\\\u0026", "%25", "&amp;"]
)
def test_a_long_text_full_of_escapes_takes_no_longer_than_its_length(piece):
    text = piece * (200_000 // len(piece))
    assert masker_of("plain-lily").known.masked(text) == text


@pytest.mark.parametrize("odd", [b"1e999", b'"\\ud800"', b"[" * 5_000, b"1" * 5_000])
def test_a_secret_in_json_that_can_not_be_written_again_is_covered_all_the_same(odd):
    raw = b'{"a":"plain-lily","b":' + odd + b"}"
    assert masker_of("plain-lily").json(raw) == b'{"a":"${NAME}","b":' + odd + b"}"
