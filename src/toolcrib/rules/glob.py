"""Shell-style name patterns, turned into regular expressions that never backtrack far."""

from __future__ import annotations

import re
from itertools import product

MAX_EXPANSIONS = 64
MAX_NESTING = 8

_STAR = ".*"
_WILDCARDS = {"*": _STAR, "?": "."}

Items = tuple[str, ...]


class PatternError(ValueError):
    """A pattern that cannot be read; the message says what is wrong with it."""


def glob_to_regex(text: str) -> str:
    """A regular expression whose full match is the glob's: `*`, `?`, `[abc]`, `[a-z]`, `[!a]`, `{a,b}`."""
    return "|".join(_join_items(items) for items in _Reader(text).read())


class _Reader:
    """Reads a glob once, left to right, expanding braces into the plain globs they stand for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> list[Items]:
        return self._sequence(nesting=0)

    def _sequence(self, nesting: int) -> list[Items]:
        """The expansions of what follows, up to the end or, inside braces, up to a `,` or `}`."""
        expansions: list[Items] = [()]
        while char := self._peek():
            if nesting and char in ",}":
                break
            expansions = self._combine(expansions, self._next(char, nesting))
        return expansions

    def _next(self, char: str, nesting: int) -> list[Items]:
        if char == "{":
            return self._braces(nesting + 1)
        if char == "[":
            return [(self._bracket(),)]
        if char == "}":
            raise PatternError(f"`}}` without `{{` in {self._text!r}")
        self._at += 1
        return [(_WILDCARDS.get(char) or re.escape(char),)]

    def _braces(self, nesting: int) -> list[Items]:
        if nesting > MAX_NESTING:
            raise PatternError(f"braces nested deeper than {MAX_NESTING} in {self._text!r}")
        expansions: list[Items] = []
        while self._peek() != "}":
            self._at += 1  # the opening brace, then each comma
            expansions += self._sequence(nesting)
            if not self._peek():
                raise PatternError(f"`{{` without `}}` in {self._text!r}")
        self._at += 1
        return expansions

    def _bracket(self) -> str:
        """One character class; a `]` right after the opening stands for itself."""
        start = self._at + 1
        negated = self._text[start : start + 1] in ("!", "^")
        start += negated
        end = self._text.find("]", start + 1)
        if end < 0:
            raise PatternError(f"`[` without `]` in {self._text!r}")
        self._at = end + 1
        return f"[{'^' if negated else ''}{self._members(self._text[start:end])}]"

    def _members(self, text: str) -> str:
        members = ""
        while text:
            is_range = len(text) > 2 and text[1] == "-"
            first, last = text[0], text[2 if is_range else 0]
            if last < first:
                raise PatternError(f"range {first}-{last} runs backwards in {self._text!r}")
            members += f"{_in_class(first)}-{_in_class(last)}"
            text = text[3 if is_range else 1 :]
        return members

    def _combine(self, left: list[Items], right: list[Items]) -> list[Items]:
        if len(left) * len(right) > MAX_EXPANSIONS:
            raise PatternError(f"braces expand to more than {MAX_EXPANSIONS} names in {self._text!r}")
        return [(*head, *tail) for head, tail in product(left, right)]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]


def _in_class(char: str) -> str:
    return char if char.isalnum() else f"\\{char}"


def _join_items(items: Items) -> str:
    """Each run between two stars is matched at its first place only, which is enough and keeps the work linear."""
    runs = [""]
    for item in items:
        if item == _STAR:
            runs.append("")
        else:
            runs[-1] += item
    if len(runs) == 1:
        return runs[0]
    middle = "".join(f"(?>.*?{run})" for run in runs[1:-1] if run)
    return f"{runs[0]}{middle}{_STAR}{runs[-1]}"
