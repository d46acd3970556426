"""YAML as plain data: built from parser events, so that every limit holds before anything is constructed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml import events

from toolcrib.config.malformed import MAX_DEPTH, Malformed

MAX_VALUES = 200_000
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE_KEY = "<<"
_PLAIN_TAGS = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))


def parse_yaml(text: str) -> Any:
    """Plain data from one YAML document; tags are refused, aliases are bounded, keys are text."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise Malformed(f"is not valid YAML: {error.problem or error.context}", line, column) from None
    except yaml.YAMLError:
        raise Malformed("is not valid YAML: it holds a character that is not allowed") from None
    return builder.result


@dataclass(slots=True)
class _Open:
    """A list or map being filled; `weight` counts every value in it, those behind aliases included."""

    event: Any
    data: list[Any] | dict[str, Any]
    weight: int = 1
    key: str | None = None
    merged: list[dict[str, Any]] = field(default_factory=list)


class _Builder:
    def __init__(self) -> None:
        self.result: Any = {}
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._documents = 0

    def take(self, event: Any) -> None:
        if isinstance(event, events.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, events.CollectionStartEvent):
            self._start(event)
        elif isinstance(event, events.CollectionEndEvent):
            self._end()
        elif isinstance(event, events.AliasEvent):
            self._alias(event)
        elif isinstance(event, events.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _at(event, "holds more than one document; expected one")

    def _scalar(self, event: Any) -> None:
        _refuse_tag(event)
        if self._awaits_key():
            self._take_key(event)
        else:
            self._add(event, _scalar_value(event), 1, event.anchor)

    def _start(self, event: Any) -> None:
        _refuse_tag(event)
        if self._awaits_key():
            raise _at(event, "has a list or map as a key; expected text")
        if len(self._open) >= MAX_DEPTH:
            raise _at(event, f"is nested deeper than {MAX_DEPTH} levels")
        self._open.append(_Open(event, {} if isinstance(event, events.MappingStartEvent) else []))

    def _end(self) -> None:
        closed = self._open.pop()
        if isinstance(closed.data, dict):
            for source in closed.merged:
                closed.data = {**source, **closed.data}
        self._add(closed.event, closed.data, closed.weight, closed.event.anchor)

    def _alias(self, event: Any) -> None:
        if self._awaits_key():
            raise _at(event, "has an alias as a key; expected text")
        if event.anchor not in self._anchors:
            raise _at(event, f"names an unknown anchor '*{event.anchor}'; put quotes around text that begins with *")
        value, weight = self._anchors[event.anchor]
        self._add(event, value, weight, None)

    def _add(self, event: Any, value: Any, weight: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, weight)
        if not self._open:
            self.result = {} if value is None else value
            return
        parent = self._open[-1]
        parent.weight += weight
        if parent.weight > MAX_VALUES:
            raise _at(event, f"holds more than {MAX_VALUES} values")
        _place(parent, value, event)

    def _awaits_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].data, dict) and self._open[-1].key is None

    def _take_key(self, event: Any) -> None:
        parent = self._open[-1]
        if event.value in parent.data:
            raise _at(event, f"has the key '{event.value}' twice in one map")
        parent.key = event.value


def _place(parent: _Open, value: Any, event: Any) -> None:
    if isinstance(parent.data, list):
        parent.data.append(value)
        return
    key, parent.key = parent.key or "", None
    if key != _MERGE_KEY:
        parent.data[key] = value
        return
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise _at(event, "merges something that is not a map")
    parent.merged.extend(sources)


def _scalar_value(event: Any) -> Any:
    """What an unquoted text means; dates stay text, as everything else that is not a plain value."""
    if not event.implicit[0]:
        return event.value
    tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, (True, False))
    if tag not in _PLAIN_TAGS:
        return event.value
    try:
        return _RESOLVER.construct_object(yaml.ScalarNode(tag, event.value))
    except ValueError:
        raise _at(event, "holds a number that cannot be read") from None


def _refuse_tag(event: Any) -> None:
    if event.tag is not None:
        raise _at(event, f"uses the tag '{event.tag}'; tags are not read, put quotes around text that begins with !")


def _at(event: Any, message: str) -> Malformed:
    return Malformed(message, event.start_mark.line + 1, event.start_mark.column + 1)


class _Resolver(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """The safe loader's reading of single values, without its reader of whole documents."""

    def __init__(self) -> None:
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)


_RESOLVER: Any = _Resolver()
