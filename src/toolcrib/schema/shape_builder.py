"""How shapes are widened, value by value; the one module that knows the inference library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genson import SchemaBuilder
from genson.schema.strategies import List, Object

from toolcrib.schema.infer import MOST_KEYS, is_field_name

# Keys none of which is always there, this many of them, are names of things rather than of fields.
MOST_LOOSE_KEYS = 8


class _Record(Object):
    """An object with fields; one whose keys are data is a map to one kind of value, and such keys are never kept."""

    KEYWORDS = (*Object.KEYWORDS, "additionalProperties")

    def __init__(self, node_class: Any) -> None:
        super().__init__(node_class)
        self._required: set[str] | None = None
        self._others = node_class()
        self._is_map = False

    def add_schema(self, schema: dict[str, Any]) -> None:
        # The library takes a schema without `required` for one that does not say; here it means that nothing is.
        super().add_schema({"required": [], **schema})
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            self._others.add_schema(others)
            self._is_map = self._is_map or "properties" not in schema
        self._fold()

    def add_object(self, obj: dict[str, Any]) -> None:
        fields = [] if self._is_map else [key for key in obj if is_field_name(key)]
        odd = len(obj) - len(fields)
        self._is_map = self._is_map or (odd > 0 and odd >= len(fields)) or len(obj) > MOST_KEYS
        if not self._is_map:
            super().add_object({key: obj[key] for key in fields})
        for key, value in obj.items():
            if self._is_map or key not in self._properties:
                self._others.add_object(value)
        self._fold()

    def to_schema(self) -> dict[str, Any]:
        self._include_empty_required = False
        schema: dict[str, Any] = super().to_schema()
        if len(self._others):
            schema["additionalProperties"] = self._others.to_schema()
        return schema

    def _fold(self) -> None:
        """Turn a record into a map once it has too many fields to be one."""
        loose = not self._required and len(self._properties) > MOST_LOOSE_KEYS
        self._is_map = self._is_map or loose or len(self._properties) > MOST_KEYS
        if self._is_map:
            for node in self._properties.values():
                self._others.add_schema(node)
            self._properties.clear()
            self._required = set()


class _Rows(List):
    """A list of one kind of item (or nothing); of several kinds it is a list of anything."""

    def __init__(self, node_class: Any) -> None:
        super().__init__(node_class)
        self._is_mixed = False

    def add_schema(self, schema: dict[str, Any]) -> None:
        self._is_mixed = self._is_mixed or schema.get("items") == {}
        super().add_schema({key: value for key, value in schema.items() if key != "items" or value})

    def to_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = super().to_schema()
        kinds = _kinds(schema.get("items", {}))
        if self._is_mixed or len(kinds - {"null"}) > 1:
            schema["items"] = {}
        return schema


class ShapeBuilder(SchemaBuilder):
    EXTRA_STRATEGIES = (_Record, _Rows)


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    if "anyOf" in schema:
        return {kind for branch in schema["anyOf"] for kind in _kinds(branch)}
    kind = schema.get("type", [])
    return set(kind) if isinstance(kind, list) else {kind}
