"""Replacing pieces of a text by position, and what a text looks like around a position."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Splice(NamedTuple):
    """Put `new` in place of what is between `start` and `end`."""

    start: int
    end: int
    new: str = ""


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """The text with all pieces replaced; those at one place keep their order."""
    parts: list[str] = []
    done = 0
    for start, end, new in sorted(splices, key=lambda splice: splice[:2]):
        parts += [text[done:start], new]
        done = max(done, end)
    return "".join([*parts, text[done:]])


def newline_of(text: str) -> str:
    """The line ending that the text uses first."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def line_end(text: str, position: int) -> int:
    """Where the line ends, before its line ending."""
    end = text.find("\n", position)
    if end < 0:
        return len(text)
    return end - 1 if end > position and text[end - 1] == "\r" else end


def next_line(text: str, position: int) -> int:
    """Where the following line begins."""
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def indentation(text: str, position: int) -> str:
    """The blanks at the beginning of the line."""
    start = line_start(text, position)
    line = text[start : line_end(text, start)]
    return line[: len(line) - len(line.lstrip(" \t"))]


def starts_line(text: str, position: int) -> bool:
    """Whether only blanks stand before the position on its line."""
    return not text[line_start(text, position) : position].strip(" \t")


def break_before(text: str, position: int) -> int:
    """Where the line ending before the position's line begins; 0 on the first line."""
    start = line_start(text, position)
    if not start:
        return 0
    return start - 2 if text[start - 2 : start] == "\r\n" else start - 1
