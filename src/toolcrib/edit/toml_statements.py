"""TOML as a list of statements with positions: table headers, and keys with their values."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from toolcrib.edit.changes import EditRefused, Place

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_DOTTED = re.compile(rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*")
_ONE_KEY = re.compile(_KEY)
_HEADER = re.compile(rf"(\[\[?)[ \t]*({_DOTTED.pattern})[ \t]*\]\]?")
_ASSIGNMENT = re.compile(rf"({_DOTTED.pattern})[ \t]*=[ \t]*")
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[{]|[\]}]|[^\s"\'#\[\]{},]+|,|[ \t]+|\r?\n',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A header `[a.b]`, or `key = value` of the table before it; `place` is the full way from the root."""

    place: Place
    start: int
    end: int
    value_start: int = 0
    is_header: bool = False


def toml_data(text: str) -> dict[str, Any]:
    """Plain data, to compare before and after."""
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise EditRefused(f"the file is not valid TOML: {error}") from None


def statements(text: str) -> list[Statement]:
    """Every statement in order; `end` is the end of what it says, before a comment on the same line."""
    found: list[Statement] = []
    counts: dict[Place, int] = {}
    table: Place = ()
    at = 0
    while (at := _after_blanks(text, at)) < len(text):
        if header := _HEADER.match(text, at):
            table = _numbered(_parts(header[2]), counts, is_list=header[1] == "[[")
            found.append(Statement(table, at, header.end(), is_header=True))
        elif assignment := _ASSIGNMENT.match(text, at):
            end = _value_end(text, assignment.end())
            found.append(Statement((*table, *_parts(assignment[1])), at, end, assignment.end()))
        else:
            raise EditRefused(f"line {text.count(chr(10), 0, at) + 1} is not valid TOML")
        at = found[-1].end
    return found


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANK.match(text, at)
    return blanks.end() if blanks else at


def _parts(dotted: str) -> Place:
    return tuple(_plain(key[0]) for key in _ONE_KEY.finditer(dotted))


def _plain(key: str) -> str:
    return str(next(iter(tomllib.loads(f"{key} = 0")))) if key[0] in "\"'" else key


def _numbered(parts: Place, counts: dict[Place, int], *, is_list: bool) -> Place:
    """The way with the number of each list of tables that it passes through."""
    place: Place = ()
    for number, part in enumerate(parts):
        place = (*place, part)
        if is_list and number == len(parts) - 1:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _value_end(text: str, at: int) -> int:
    """Where the value ends: at the end of its line, unless brackets are open."""
    depth, end = 0, at
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            raise EditRefused(f"line {text.count(chr(10), 0, at) + 1} is not valid TOML")
        word = piece[0]
        if depth == 0 and (word.startswith("#") or word.endswith("\n")) and "\n" not in word[:-1].rstrip("\r"):
            return end
        depth += (word in ("[", "{")) - (word in ("]", "}"))
        at = piece.end()
        if word.strip():
            end = at
    return end
