"""Edit YAML by splicing its text: what is not touched keeps every byte."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import yaml

from toolcrib.edit.changes import Change, EditRefused, Key, Place, nested, out_of_place
from toolcrib.edit.json_text import as_json
from toolcrib.edit.splices import (
    Splice,
    break_before,
    line_end,
    line_start,
    newline_of,
    next_line,
    starts_line,
)
from toolcrib.edit.tree_edit import changed_text
from toolcrib.edit.yaml_tree import Child, Node, parse_tree

_COMMENT_TO_LINE_END = re.compile(r"[ \t]*(?:(?<=[ \t])#[^\r\n]*)?(?=\r?\n|\Z)")


def edit_yaml(text: str, change: Change) -> str:
    """The text after one change."""
    root = parse_tree(text)
    return changed_text(
        text, change, _Edit(text, root) if root else None, lambda value, newline: _block(value, "", newline)
    )


def _block(value: Any, indent: str, newline: str) -> str:
    """The value in block style, every line but the first indented."""
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100_000, default_flow_style=False)
    return text.removesuffix("...\n").rstrip("\n").replace("\n", newline + indent)


@dataclass(frozen=True, slots=True)
class _Edit:
    text: str
    root: Node

    def put(self, place: Place, value: Any) -> list[Splice]:
        """Replace the value at the place, or add the first key of the way that is missing."""
        node, holder = self.root, None
        for depth, key in enumerate(place):
            if holder and (node.is_empty_text or node.children == []):
                return [self._replaced(node, holder, nested(place[depth:], value))]
            child = node.child(key)
            if child is None:
                return self._added(node, key, nested(place[depth + 1 :], value))
            node, holder = child.node, child
        return [self._replaced(node, holder, value)]

    def drop(self, place: Place) -> list[Splice]:
        node, holder = self.root, None
        for key in place[:-1]:
            child = node.child(key)
            if child is None:
                return []
            node, holder = child.node, child
        doomed = node.child(place[-1])
        if doomed is None:
            return []
        if node.is_flow:
            return [self._dropped_from_flow(node, doomed)]
        return [self._dropped_from_block(node, holder, doomed)]

    def _replaced(self, node: Node, holder: Child | None, value: Any) -> Splice:
        if holder is None or not holder.key:
            raise EditRefused("a whole list item or document can't be replaced")
        newline, is_block = newline_of(self.text), node.children is not None and not node.is_flow
        colon = self.text.index(":", holder.key_end) + 1
        if not isinstance(value, dict | list) or not value or self._in_flow(node):
            is_beside_key = is_block or node.start == node.end
            return Splice(colon if is_beside_key else node.start, node.end, " " * is_beside_key + _flow(value))
        indent = " " * (holder.start - line_start(self.text, holder.start) + 2)
        return Splice(colon, node.end, newline + indent + _block(value, indent, newline))

    def _in_flow(self, node: Node) -> bool:
        """Whether the node lies inside of brackets."""
        found, inside = self.root, self.root.is_flow
        while found is not node and not inside and found.children:
            around = [child.node for child in found.children if child.start <= node.start]
            if not around:
                return False
            found = around[-1]
            inside = found is not node and found.is_flow
        return inside

    def _added(self, parent: Node, key: Key, value: Any) -> list[Splice]:
        if parent.children is None or isinstance(key, str) != parent.is_map:
            raise out_of_place(key)
        piece = {key: value} if isinstance(key, str) else [value]
        if parent.is_flow:
            return self._added_to_flow(parent, piece)
        indent = " " * parent.column
        newline = newline_of(self.text)
        rest = _COMMENT_TO_LINE_END.match(self.text, parent.end)
        if rest is None:
            raise EditRefused("there is no line end after which new lines could be added")
        return [Splice(rest.end(), rest.end(), newline + indent + _block(piece, indent, newline))]

    def _added_to_flow(self, parent: Node, piece: dict[str, Any] | list[Any]) -> list[Splice]:
        inner = _flow(piece)[1:-1]
        children = parent.children or []
        if not children:
            return [Splice(parent.start + 1, parent.end - 1, inner)]
        after = children[-1].node.end
        has_comma = self.text[after : parent.end - 1].strip().startswith(",")
        if has_comma:
            return [Splice(parent.end - 1, parent.end - 1, f" {inner}")]
        return [Splice(after, after, f", {inner}")]

    def _dropped_from_flow(self, parent: Node, doomed: Child) -> Splice:
        children = parent.children or []
        place = children.index(doomed)
        if len(children) == 1:
            return Splice(parent.start + 1, parent.end - 1)
        if place:
            return Splice(children[place - 1].node.end, doomed.node.end)
        return Splice(doomed.start, children[1].start)

    def _dropped_from_block(self, parent: Node, holder: Child | None, doomed: Child) -> Splice:
        start = self._line_of(parent, doomed)
        if len(parent.children or ()) == 1:
            return self._emptied(parent, holder, start)
        following = next_line(self.text, doomed.node.end)
        is_last_line = following == len(self.text) and not self.text.endswith("\n")
        return Splice(break_before(self.text, start) if is_last_line else line_start(self.text, start), following)

    def _line_of(self, parent: Node, doomed: Child) -> int:
        """Where the child's own line begins to say something; refuses when something else stands there too."""
        start = doomed.start
        if not parent.is_map:
            while self.text[line_start(self.text, start) + parent.column :][:1] != "-":
                start = break_before(self.text, start)
            start = line_start(self.text, start) + parent.column
        if not starts_line(self.text, start):
            raise EditRefused("the first key of a list item cannot be removed alone")
        return start

    def _emptied(self, parent: Node, holder: Child | None, start: int) -> Splice:
        empty = "{}" if parent.is_map else "[]"
        if holder is None or not holder.key:
            return Splice(start, line_end(self.text, parent.end), empty)
        colon = self.text.index(":", holder.key_end) + 1
        between = self.text[colon:start]
        if between.strip():
            # A comment after the key or above the only child stays where it is.
            return Splice(colon, line_end(self.text, parent.end), f" {empty}{between.rstrip()}")
        return Splice(colon, line_end(self.text, parent.end), f" {empty}")


def _flow(value: Any) -> str:
    """The value on one line, as JSON, which is YAML too; plain words stay plain."""
    if isinstance(value, str):
        return _block(value, "", "\n") if "\n" not in value else json.dumps(value)
    return as_json(value)
