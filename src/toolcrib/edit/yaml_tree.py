"""YAML as a tree of positions, built from the parser's events so that an alias is an alias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml import events

from toolcrib.edit.changes import EditRefused, Key
from toolcrib.edit.tree_edit import child_at

_BLOCK_SCALARS = ("|", ">")


@dataclass(slots=True)
class Node:
    """A value; `end` is where its last character stands, not where the next thing begins."""

    start: int
    column: int
    end: int = 0
    is_map: bool = False
    is_flow: bool = False
    is_empty_text: bool = False
    children: list[Child] | None = None

    def child(self, key: Key) -> Child | None:
        return child_at(self.children, key, is_map=self.is_map)


@dataclass(slots=True)
class Child:
    """A member of a map, from its key on, or an item of a list."""

    start: int
    node: Node
    key: str = ""
    key_end: int = field(default=0)


def parse_tree(text: str) -> Node | None:
    """The root of the only document; None when there is none."""
    try:
        found = [event for event in yaml.parse(text, Loader=yaml.SafeLoader) if not isinstance(event, _UNNEEDED)]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise EditRefused(f"line {mark.line + 1 if mark else 1} is not valid YAML") from None
    stream = iter(found)
    documents = [_value(text, event, stream) for event in stream if not isinstance(event, events.DocumentStartEvent)]
    if len(documents) > 1:
        raise EditRefused("the file holds more than one YAML document")
    root = documents[0] if documents else None
    return None if root is None or (root.is_empty_text and root.start == root.end) else root


def yaml_data(text: str) -> Any:
    """Plain data, to compare before and after."""
    try:
        return yaml.load(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        raise EditRefused(f"the file cannot be read as YAML: {type(error).__name__}") from None


_UNNEEDED = (events.StreamStartEvent, events.StreamEndEvent, events.DocumentEndEvent)


def _value(text: str, event: Any, stream: Iterator[Any]) -> Node:
    mark = event.start_mark
    node = Node(mark.index, mark.column, _index(event.end_mark))
    if isinstance(event, events.CollectionStartEvent):
        node.is_map = isinstance(event, events.MappingStartEvent)
        node.is_flow = bool(event.flow_style)
        node.children = []
        _fill(text, node, stream)
    elif isinstance(event, events.ScalarEvent):
        node.is_empty_text = not event.value and event.style is None
        if event.style in _BLOCK_SCALARS:
            node.end = len(text[: node.end].rstrip())
    return node


def _fill(text: str, node: Node, stream: Iterator[Any]) -> None:
    children = node.children if node.children is not None else []
    for event in stream:
        if isinstance(event, events.CollectionEndEvent):
            node.end = _index(event.end_mark) if node.is_flow else children[-1].node.end if children else node.end
            return
        if not node.is_map:
            children.append(Child(_index(event.start_mark), _value(text, event, stream)))
            continue
        if not isinstance(event, events.ScalarEvent):
            raise EditRefused("the file has a map key that is not text")
        if node.child(event.value):
            raise EditRefused(f"the key '{event.value}' appears twice in one map")
        start, key_end = _index(event.start_mark), _index(event.end_mark)
        children.append(Child(start, _value(text, next(stream), stream), event.value, key_end))


def _index(mark: Any) -> int:
    return int(mark.index)
