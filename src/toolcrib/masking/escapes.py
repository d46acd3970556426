"""A text as it reads once its escapes are undone: those of addresses, of JSON and program code, of HTML, and wrapped base64.

Encoders differ in which characters they escape and how. Every text is therefore decoded the same way, instead of each secret
being looked for in all ways to write it; that also takes no longer where many secrets are known.
"""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

# One character takes no more in one layer: four bytes in an address, two halves in JSON.
LONGEST_ESCAPE = 12
# JSON in JSON in a line of JSON.
_MOST_LAYERS = 3

_NEXT_BYTE = "%[89ABab][0-9A-Fa-f]"
_KINDS = {
    "%": rf"%[CDcd][0-9A-Fa-f]{_NEXT_BYTE}|%[Ee][0-9A-Fa-f](?:{_NEXT_BYTE}){{2}}"
    rf"|%[Ff][0-4](?:{_NEXT_BYTE}){{3}}|%[0-9A-Fa-f]{{2}}",
    "\\": r"\\u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\U00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4}"
    r"|\\x[0-9A-Fa-f]{2}|\\[^\w\s]|\\[bfnrt]",
    "&": r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});",
    # Lines of base64 are 64 or 76 characters long.
    "\n": r"(?<=[A-Za-z0-9+/_-]{60})\r?\n[ \t]*(?=[A-Za-z0-9+/=_-])",
}
_PATTERNS = {mark: re.compile(pattern) for mark, pattern in _KINDS.items()}
_ANY = re.compile("|".join(_KINDS.values()))
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# What may hide a secret in JSON. Quotes and line breaks, which are in every JSON, are none of it: they have to be escaped.
_HIDING = tuple(map(re.compile, (rb"\\[/u\\]", rb"%[0-9A-Fa-f]{2}", rb"&#?\w{2,31};")))


class Piece(NamedTuple):
    """What an escape means, from `start` up to `end` of the decoded text, and where the escape is."""

    start: int
    end: int
    escape_start: int
    escape_end: int


class Reading:
    """A text with the escapes that a pattern finds undone; knows where everything in it is in the text it was read from."""

    def __init__(self, original: str, escapes: re.Pattern[str], within: Reading | None = None) -> None:
        self.text = escapes.sub(_meaning, original)
        self._original = original
        self._escapes = escapes
        self._within = within

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of this reading begins and ends in the outermost text; an escape is never cut."""
        first, last = self._before(start), self._before(end - 1)
        start = first.escape_start if start < first.end else first.escape_end + start - first.end
        end = last.escape_end if end <= last.end else last.escape_end + end - last.end
        return (start, end) if self._within is None else self._within.place(start, end)

    def _before(self, at: int) -> Piece:
        """The last piece that begins here or before."""
        return self._pieces[bisect_right(self._starts, at) - 1]

    @cached_property
    def _pieces(self) -> list[Piece]:
        # Made only where a secret was found.
        pieces, longer = [Piece(0, 0, 0, 0)], 0
        for escape in self._escapes.finditer(self._original):
            start = escape.start() - longer
            longer = escape.end() - (end := start + len(_meaning(escape)))
            pieces.append(Piece(start, end, *escape.span()))
        return pieces

    @cached_property
    def _starts(self) -> list[int]:
        return [piece.start for piece in self._pieces]


def readings(text: str) -> Iterator[Reading]:
    """The text with its escapes undone: each kind by itself, and all of them; layer by layer, as far as it changes."""
    marks = _marks_in(text)
    seen = {text}
    # By itself as well, since a secret may hold what looks like an escape of another kind.
    for mark in sorted(marks):
        for reading in _layers(text, _PATTERNS[mark]):
            marks |= _marks_in(reading.text)
            if reading.text not in seen:
                seen.add(reading.text)
                yield reading
    for reading in _layers(text, _ANY) if len(marks) > 1 else ():
        if reading.text not in seen:
            seen.add(reading.text)
            yield reading


def _marks_in(text: str) -> set[str]:
    return {mark for mark in _PATTERNS if mark in text}


def _layers(text: str, escapes: re.Pattern[str]) -> Iterator[Reading]:
    reading = Reading(text, escapes)
    for _ in range(_MOST_LAYERS):
        if reading.text == text:
            break
        yield reading
        text, reading = reading.text, Reading(reading.text, escapes, reading)


def may_hide(raw: bytes) -> bool:
    """Whether JSON has escapes behind which its bytes do not show a secret that is there."""
    return any(pattern.search(raw) for pattern in _HIDING)


def _meaning(escape: re.Match[str]) -> str:
    return _meaning_of(escape[0])


@lru_cache(maxsize=4096)  # a text has the same ones over and over
def _meaning_of(written: str) -> str:
    match written[0]:
        case "%":
            return bytes.fromhex(written.replace("%", "")).decode("utf-8", "surrogateescape")
        case "&":
            return html.unescape(written)
        case "\\":
            return _behind_backslash(written)
    return ""


def _behind_backslash(written: str) -> str:
    kind, digits = written[1], written[2:]
    if kind == "u":
        return str(json.loads(f'"{written}"'))
    if digits:
        return chr(int(digits, 16))
    return _CONTROLS.get(kind, kind)
