"""From values seen to a JSON Schema of their shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

MOST_KEYS = 32
MOST_ITEMS = 20
MOST_DEPTH = 8
MOST_NODES = 4_000

# A name of a field; anything else (dates, addresses, ids, paths) is taken for data that happens to be a key.
_FIELD = re.compile(r"[@$_]{0,2}[^\W\d_][\w-]{0,39}")
_DIGITS = re.compile(r"\d")
MOST_DIGITS = 4


class SampleTooLarge(ValueError):
    """A value with more parts than anyone would want to learn a shape from."""


class Shape:
    """The shape of all values added, and of those another shape was learnt from."""

    def __init__(self, schema: Mapping[str, Any] | None = None) -> None:
        # Loaded only here: a gateway that nobody calls through never needs the library.
        self._builder = import_module("toolcrib.schema.shape_builder").ShapeBuilder(schema_uri=None)
        if schema is not None:
            self._builder.add_schema(dict(schema))

    def add(self, value: Any) -> None:
        """Widen the shape so that `value` fits; raises SampleTooLarge and changes nothing where it is too much."""
        self._builder.add_object(trimmed(value))

    @property
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = self._builder.to_schema()
        return schema


def infer_schema(*values: Any) -> dict[str, Any]:
    """The JSON Schema that all values fit."""
    shape = Shape()
    for value in values:
        shape.add(value)
    return shape.schema


def trimmed(value: Any) -> Any:
    """As much of a value as its shape is told from: the first items of lists, the first keys of maps, some levels."""
    nodes = 0

    def trim(part: Any, depth: int) -> Any:
        nonlocal nodes
        nodes += 1
        if nodes > MOST_NODES:
            raise SampleTooLarge(f"more than {MOST_NODES} parts")
        if isinstance(part, dict):
            # One key more than a record may have: that it is none must still be seen.
            names = list(part)[: MOST_KEYS + 1] if depth else []
            return {name: trim(part[name], depth - 1) for name in names}
        if isinstance(part, list):
            return [trim(item, depth - 1) for item in part[:MOST_ITEMS]] if depth else []
        return part

    return trim(value, MOST_DEPTH)


def is_field_name(key: str) -> bool:
    """Whether a key names a field, or is data itself."""
    return bool(_FIELD.fullmatch(key)) and len(_DIGITS.findall(key)) <= MOST_DIGITS
