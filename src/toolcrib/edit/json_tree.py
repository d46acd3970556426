"""JSON with comments as a tree of positions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from toolcrib.edit.changes import EditRefused, Key
from toolcrib.edit.tree_edit import child_at

_MAX_DEPTH = 200
_BETWEEN = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r'[^\s,:/"\[\]{}]+')


@dataclass(slots=True)
class Node:
    """A value from `start` to `end`; `children` is None for what holds nothing."""

    start: int
    end: int = 0
    value: Any = None
    is_map: bool = False
    children: list[Child] | None = None

    def child(self, key: Key) -> Child | None:
        """The child of that name or number."""
        return child_at(self.children, key, is_map=self.is_map)

    def data(self) -> Any:
        """The value as plain data."""
        if self.children is None:
            return self.value
        if self.is_map:
            return {child.key: child.node.data() for child in self.children}
        return [child.node.data() for child in self.children]


@dataclass(slots=True)
class Child:
    """A member of a map or an item of a list, from its key on; `comma` is where the comma after it stands."""

    start: int
    node: Node
    key: str = ""
    comma: int | None = None


@dataclass(slots=True)
class _Parser:
    text: str
    at: int = 0
    depth: int = field(default=0)

    def value(self) -> Node:
        opening = self.peek()
        if opening in ("{", "["):
            return self.container(opening)
        node = Node(self.at)
        found = (_STRING if opening == '"' else _LITERAL).match(self.text, self.at)
        if not found:
            raise self.wrong()
        node.value = self.plain(found[0])
        node.end = self.at = found.end()
        return node

    def container(self, opening: str) -> Node:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise EditRefused("the file is nested too deeply")
        children: list[Child] = []
        node = Node(self.at, is_map=opening == "{", children=children)
        closing = "}" if node.is_map else "]"
        self.at += 1
        while self.peek() != closing:
            if children and children[-1].comma is None:
                raise self.wrong()
            children.append(self.child(node))
            if self.peek() == ",":
                children[-1].comma = self.at
                self.at += 1
        self.at += 1
        self.depth -= 1
        node.end = self.at
        return node

    def child(self, parent: Node) -> Child:
        start = self.at
        if not parent.is_map:
            return Child(start, self.value())
        found = _STRING.match(self.text, start)
        if not found:
            raise self.wrong()
        key = self.plain(found[0])
        if parent.child(key):
            raise EditRefused(f"the key '{key}' appears twice in one map")
        self.at = found.end()
        if self.peek() != ":":
            raise self.wrong()
        self.at += 1
        self.peek()
        return Child(start, self.value(), key)

    def peek(self) -> str:
        """The next character that is no blank and no comment; empty at the end."""
        between = _BETWEEN.match(self.text, self.at)
        self.at = between.end() if between else self.at
        return self.text[self.at : self.at + 1]

    def plain(self, token: str) -> Any:
        try:
            return json.loads(token)
        except ValueError:
            raise self.wrong() from None

    def wrong(self) -> EditRefused:
        return EditRefused(f"line {self.text.count(chr(10), 0, self.at) + 1} is not valid JSON")


def parse_tree(text: str) -> Node | None:
    """The root of the document; None when the text holds nothing but blanks and comments."""
    parser = _Parser(text)
    if not parser.peek():
        return None
    root = parser.value()
    if parser.peek():
        raise parser.wrong()
    return root
