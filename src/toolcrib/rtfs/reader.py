"""RTFS text to forms; bounded in size and nesting, and itself never nested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from toolcrib.errors import RtfsError
from toolcrib.rtfs.forms import (
    MAX_DIGITS,
    Form,
    Kind,
    ListForm,
    Literal,
    MapForm,
    Misplaced,
    Scalar,
    Symbol,
    VectorForm,
    literal,
)
from toolcrib.rtfs.spelling import ESCAPES, IDENTIFIER, KEYWORD_NAME, writable

MAX_CHARACTERS = 1_000_000
MAX_FORMS = 100_000
MAX_NESTING = 160
SHOWN_CHARACTERS = 40

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+|;[^\n]*|\#\|.*?\|\#)
      |(?P<open>[\[({])
      |(?P<close>[\])}])
      |(?P<string>"(?:[^"\\]|\\.)*")
      |(?P<atom>\#\#[A-Za-z-]+|[^ \t\r\n()\[\]{}";,\#]+)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PATTERNS: dict[Kind, re.Pattern[str]] = {
    "keyword": re.compile(rf":{KEYWORD_NAME.pattern}"),
    "uuid": re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"),
    "timestamp": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z"),
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?")
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_KINDS: dict[str, type[VectorForm | ListForm | MapForm]] = {"[": VectorForm, "(": ListForm, "{": MapForm}
_NAMED: dict[str, Scalar] = {
    "nil": None,
    "true": True,
    "false": False,
    "##Inf": float("inf"),
    "##-Inf": float("-inf"),
    "##NaN": float("nan"),
}
_BROKEN = {
    '"': "this string is never closed",
    "#": "this comment is never closed, or a # is alone: ##Inf, ##-Inf, ##NaN and #| … |# begin with it",
    ",": "a comma is not a separator here: leave it out",
}


def read_forms(text: str) -> tuple[Form, ...]:
    """Every form of a text; raises Misplaced at the first thing that cannot be read."""
    if len(text) > MAX_CHARACTERS:
        raise Misplaced(f"the text is longer than {MAX_CHARACTERS:,} characters", 0)
    rows: list[list[Form]] = [[]]
    opened: list[tuple[str, int]] = []
    for count, (kind, token, at) in enumerate(_tokens(text)):
        if count >= MAX_FORMS or len(opened) > MAX_NESTING:
            raise Misplaced(f"more than {MAX_FORMS:,} parts or {MAX_NESTING} brackets in each other", at)
        if kind == "open":
            opened.append((token, at))
            rows.append([])
        elif kind == "close":
            _close(token, at, opened, rows)
        else:
            rows[-1].append(_string(token, at) if kind == "string" else _atom(token, at))
    if opened:
        bracket, at = opened[-1]
        raise Misplaced(f"this {bracket} is never closed", at)
    return tuple(rows[0])


@contextmanager
def places_in(text: str) -> Iterator[None]:
    """Turn what is misplaced into an RtfsError with its line and column."""
    try:
        yield
    except Misplaced as problem:
        before = text[: problem.at]
        line, column = before.count("\n") + 1, problem.at - before.rfind("\n")
        raise RtfsError(str(problem), line=line, column=column) from None


def shown(text: str) -> str:
    """A piece of the text, short enough for a message."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…")


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Misplaced(_BROKEN.get(text[at], f"{shown(text[at])} cannot be read"), at)
        if found.lastgroup != "blank":
            yield str(found.lastgroup), found[0], at
        at = found.end()


def _close(bracket: str, at: int, opened: list[tuple[str, int]], rows: list[list[Form]]) -> None:
    if not opened:
        raise Misplaced(f"this {bracket} closes nothing", at)
    opening, began = opened.pop()
    if _CLOSING[opening] != bracket:
        raise Misplaced(f"expected {_CLOSING[opening]}, found {bracket}", at)
    items = tuple(rows.pop())
    rows[-1].append(_KINDS[opening](items, began))


def _string(token: str, at: int) -> Literal:
    def unescape(found: re.Match[str]) -> str:
        if found[1] not in ESCAPES:
            raise Misplaced(rf"\{found[1]} is not an escape: only \n \t \r \\ and \" are", at + 1 + found.start())
        return ESCAPES[found[1]]

    return Literal("string", writable(_ESCAPE.sub(unescape, token[1:-1])), at)


def _atom(word: str, at: int) -> Form:
    if word in _NAMED:
        return literal(_NAMED[word], at)
    number = _number(word, at)
    if number is not None:
        return number
    for kind, pattern in _PATTERNS.items():
        if pattern.fullmatch(word):
            return Literal(kind, word.removeprefix(":"), at)
    if word == "&" or IDENTIFIER.fullmatch(word):
        return Symbol(word, at)
    raise Misplaced(f"{shown(word)} is neither a number nor a name", at)


def _number(word: str, at: int) -> Literal | None:
    is_integer = _INTEGER.fullmatch(word)
    if not is_integer and not _FLOAT.fullmatch(word):
        return None
    if len(word) > MAX_DIGITS:
        raise Misplaced(f"the number has more than {MAX_DIGITS} digits", at)
    return literal(int(word) if is_integer else float(word), at)
