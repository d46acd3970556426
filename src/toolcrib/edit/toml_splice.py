"""Edit TOML by splicing its text: what is not touched keeps every byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolcrib.edit.changes import Change, Drop, EditRefused, Place, Put, changed_data, look_up
from toolcrib.edit.splices import Splice, break_before, line_end, line_start, newline_of, next_line, spliced
from toolcrib.edit.toml_statements import Statement, statements, toml_data

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\"\\]")
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f"}


def edit_toml(text: str, change: Change) -> str:
    """The text after one change."""
    edit = _Edit(text, statements(text))
    splices = edit.drop(change.place) if isinstance(change, Drop) else edit.put(change.place, change.value)
    return spliced(text, splices)


@dataclass(frozen=True, slots=True)
class _Edit:
    text: str
    statements: list[Statement]

    def put(self, place: Place, value: Any) -> list[Splice]:
        if inline := self._inline_around(place):
            return [self._rewritten(inline, Put(place, value))]
        if isinstance(value, dict) and value:
            return [*self.drop(place), self._table(place, value)]
        if isinstance(place[-1], int):
            raise EditRefused("a list of plain values can grow only if it is written on one line")
        return [self._assigned(place, value)]

    def drop(self, place: Place) -> list[Splice]:
        inline = self._inline_around(place)
        if inline and inline.place != place:
            return [self._rewritten(inline, Drop(place))]
        return [Splice(*self._lines(first, last)) for first, last in self._blocks(place)]

    def _inline_around(self, place: Place) -> Statement | None:
        """The statement whose one value holds the place, or is it."""
        return next((one for one in self.statements if not one.is_header and _is_within(place, one.place)), None)

    def _rewritten(self, statement: Statement, change: Change) -> Splice:
        """A value on one line is written anew with the change in it."""
        whole = changed_data(toml_data(self.text), [change])
        return Splice(statement.value_start, statement.end, _inline(look_up(whole, statement.place)))

    def _blocks(self, place: Place) -> Iterator[tuple[Statement, Statement]]:
        """Runs of statements at or below the place, whole tables as one run, comments between included."""
        run: list[Statement] = []
        for one in self.statements:
            if _is_within(one.place, place) and not (run and one.is_header):
                run.append(one)
                continue
            if run:
                yield run[0], run[-1]
            run = [one] if _is_within(one.place, place) else []
        if run:
            yield run[0], run[-1]

    def _lines(self, first: Statement, last: Statement) -> tuple[int, int]:
        """Whole lines, with the blank lines before a table; comments above belong to no one and stay."""
        start, end = line_start(self.text, first.start), next_line(self.text, last.end)
        if first.is_header:
            while start and not self.text[line_start(self.text, start - 1) : start].strip():
                start = line_start(self.text, start - 1)
        if end == len(self.text) and not self.text.endswith("\n") and start:
            start = break_before(self.text, start)
        return start, end

    def _table(self, place: Place, value: dict[str, Any]) -> Splice:
        """A new table after the last one of the same family, or at the end of the file."""
        family = [one for one in self.statements if _is_within(one.place, _family(place))]
        newline = newline_of(self.text)
        lines = newline.join(_table_lines(place, value))
        if family:
            at = line_end(self.text, family[-1].end)
            return Splice(at, at, newline * 2 + lines)
        gap = "" if not self.text else newline if self.text.endswith("\n") else newline * 2
        return Splice(len(self.text), len(self.text), gap + lines + newline)

    def _assigned(self, place: Place, value: Any) -> Splice:
        """A plain value: after the last key of its table's own lines."""
        holder, key = place[:-1], str(place[-1])
        own = [one for one in self.statements if self._is_own_line(one, holder)]
        newline = newline_of(self.text)
        line = f"{_key(key)} = {_inline(value)}"
        if own:
            at = line_end(self.text, own[-1].end)
            return Splice(at, at, newline + line)
        if not holder:
            return Splice(0, 0, line + newline)
        return self._table(holder, {key: value})

    def _is_own_line(self, one: Statement, holder: Place) -> bool:
        if one.is_header:
            return one.place == holder and bool(holder)
        before = [other for other in self.statements if other.is_header and other.start < one.start]
        return (before[-1].place if before else ()) == holder


def _is_within(place: Place, outer: Place) -> bool:
    return place[: len(outer)] == outer


def _family(place: Place) -> Place:
    return place[:-1]


def _table_lines(place: Place, value: dict[str, Any]) -> Iterator[str]:
    is_item = isinstance(place[-1], int)
    name = ".".join(_key(part) for part in place if isinstance(part, str))
    tables = {key: inner for key, inner in value.items() if isinstance(inner, dict) and inner and not is_item}
    yield f"[[{name}]]" if is_item else f"[{name}]"
    for key, inner in value.items():
        if key not in tables:
            yield f"{_key(key)} = {_inline(inner)}"
    for key, inner in tables.items():
        yield ""
        yield from _table_lines((*place, key), inner)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(key)} = {_inline(inner)}" for key, inner in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, str):
        return f'"{_UNSAFE.sub(_escaped, value)}"'
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if value is None:
        raise EditRefused("TOML has no null")
    return str(value)


def _escaped(match: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _inline(key)
