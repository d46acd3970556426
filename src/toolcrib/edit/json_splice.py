"""Edit JSON with comments by splicing its text: what is not touched keeps every byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolcrib.edit.changes import Change, Key, Place, nested, out_of_place
from toolcrib.edit.json_text import as_json
from toolcrib.edit.json_tree import Child, Node, parse_tree
from toolcrib.edit.splices import Splice, break_before, indentation, line_start, newline_of, starts_line
from toolcrib.edit.tree_edit import changed_text

_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*(?:(?!\*/)[^\n])*\*/[ \t]*)*(?://[^\r\n]*)?(?=\r?\n|\Z)")


def json_data(text: str) -> Any:
    """Plain data, to compare before and after."""
    root = parse_tree(text)
    return root.data() if root else None


def edit_json(text: str, change: Change) -> str:
    """The text after one change."""
    root = parse_tree(text)
    return changed_text(
        text, change, _Edit(text, root) if root else None, lambda value, newline: _rendered(value, "  ", "", newline)
    )


def _rendered(value: Any, unit: str, indent: str, newline: str) -> str:
    text = as_json(value, unit)
    return text.replace("\n", newline + indent)


@dataclass(frozen=True, slots=True)
class _Edit:
    text: str
    root: Node

    def put(self, place: Place, value: Any) -> list[Splice]:
        """Replace the value at the place, or add the first key of the way that is missing."""
        node = self.root
        for depth, key in enumerate(place):
            if node.children is None and node.value is None:
                return [self._replaced(node, nested(place[depth:], value))]
            child = node.child(key)
            if child is None:
                return self._added(node, key, nested(place[depth + 1 :], value))
            node = child.node
        return [self._replaced(node, value)]

    def drop(self, place: Place) -> list[Splice]:
        node = self.root
        for key in place[:-1]:
            child = node.child(key)
            if child is None:
                return []
            node = child.node
        doomed = node.child(place[-1])
        return self._dropped(node, doomed) if doomed else []

    def _replaced(self, node: Node, value: Any) -> Splice:
        return Splice(node.start, node.end, self._value(value, indentation(self.text, node.start)))

    def _added(self, parent: Node, key: Key, value: Any) -> list[Splice]:
        if parent.children is None or isinstance(key, str) != parent.is_map:
            raise out_of_place(key)
        if not parent.children:
            return [self._only_child(parent, key, value)]
        last = parent.children[-1]
        after = last.node.end if last.comma is None else last.comma + 1
        comma_before, comma_after = ([Splice(after, after, ",")], "") if last.comma is None else ([], ",")
        if not starts_line(self.text, last.start):
            return [*comma_before, Splice(after, after, f" {self._member(key, value, None)}{comma_after}")]
        indent = indentation(self.text, last.start)
        rest = _REST_OF_LINE.match(self.text, after)
        at = rest.end() if rest else after
        piece = f"{newline_of(self.text)}{indent}{self._member(key, value, indent)}{comma_after}"
        return [*comma_before, Splice(at, at, piece)]

    def _only_child(self, parent: Node, key: Key, value: Any) -> Splice:
        inside = self.text[parent.start + 1 : parent.end - 1]
        newline, base = newline_of(self.text), indentation(self.text, parent.start)
        indent = base + self._unit()
        if inside.strip():
            # Comments live here: after them, on a line of its own where the brace has one.
            if starts_line(self.text, parent.end - 1):
                at = break_before(self.text, parent.end - 1)
                return Splice(at, at, newline + indent + self._member(key, value, indent))
            return Splice(parent.end - 1, parent.end - 1, self._member(key, value, None))
        if "\n" not in self.text.strip():
            return Splice(parent.start + 1, parent.end - 1, self._member(key, value, None))
        member = self._member(key, value, indent)
        return Splice(parent.start + 1, parent.end - 1, f"{newline}{indent}{member}{newline}{base}")

    def _dropped(self, parent: Node, doomed: Child) -> list[Splice]:
        children = parent.children or []
        place = children.index(doomed)
        end = doomed.node.end if doomed.comma is None else doomed.comma + 1
        if len(children) == 1 and not self._outside(parent, doomed, end).strip():
            return [Splice(parent.start + 1, parent.end - 1)]
        before = children[place - 1] if place else None
        lead = self._lead(parent, before, doomed, end)
        splices = [Splice(lead, self._tail(doomed, lead, end))]
        if doomed is children[-1] and doomed.comma is None and before and before.comma is not None:
            splices.append(Splice(before.comma, before.comma + 1))
        return splices

    def _outside(self, parent: Node, doomed: Child, end: int) -> str:
        return self.text[parent.start + 1 : doomed.start] + self.text[end : parent.end - 1]

    def _lead(self, parent: Node, before: Child | None, doomed: Child, end: int) -> int:
        """Where to cut from: the line break before, unless a line comment there needs it."""
        text = self.text
        is_last = parent.children is not None and doomed is parent.children[-1]
        if not starts_line(text, doomed.start):
            return len(text[: doomed.start].rstrip(" \t")) if is_last and before else doomed.start
        previous = parent.start + 1 if before is None else before.node.end
        line_break = break_before(text, doomed.start)
        has_line = _REST_OF_LINE.match(text, end) is not None
        line_before = text[max(previous, line_start(text, line_break)) : line_break]
        if line_break < previous or (not has_line and (not is_last or "//" in line_before)):
            return doomed.start
        return line_break

    def _tail(self, doomed: Child, lead: int, end: int) -> int:
        """Where to cut to: a comment on the same line goes with what it is about."""
        rest = _REST_OF_LINE.match(self.text, end)
        if rest and starts_line(self.text, doomed.start):
            return rest.end()
        if doomed.comma is None or lead != doomed.start:
            return end
        following = len(self.text) - len(self.text[end:].lstrip(" \t"))
        return end if self.text[following : following + 1] in ("}", "]") else following

    def _member(self, key: Key, value: Any, indent: str | None) -> str:
        name = f"{as_json(key)}: " if isinstance(key, str) else ""
        rendered = as_json(value) if indent is None else self._value(value, indent)
        return name + rendered

    def _value(self, value: Any, indent: str) -> str:
        if "\n" not in self.text.strip():
            return as_json(value)
        return _rendered(value, self._unit(), indent, newline_of(self.text))

    def _unit(self) -> str:
        """By how much the document indents."""
        return next(self._steps(self.root), "  ")

    def _steps(self, node: Node) -> Iterator[str]:
        base = indentation(self.text, node.start)
        for child in node.children or ():
            indent = indentation(self.text, child.start)
            if starts_line(self.text, child.start) and indent.startswith(base) and len(indent) > len(base):
                yield indent[len(base) :]
            yield from self._steps(child.node)
