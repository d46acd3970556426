"""A schema as a short type: `string[]`, `"open"|"closed"`, `{a: string, b?: integer}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from toolcrib.schema.shape import Schema, branches, members, resolved

CUT = "…"
MAX_NODES = 1_000
MAX_NESTING = 32
LITERALS_CHARACTERS = 80
LITERAL_CHARACTERS = 40

_TYPE_NAME = re.compile(r"[A-Za-z]{1,20}")
_FIELD_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,63}")


class TypeWriter:
    """Writes the types found in one schema document; `depth` says how many levels of objects are spelled out."""

    def __init__(self, root: Any, *, depth: int, unopened_object: str = "{…}") -> None:
        self._root = root
        self._depth = depth
        self._unopened_object = unopened_object
        self._nodes_left = MAX_NODES
        self._path: list[str] = []

    def text(self, schema: Any) -> str:
        return "|".join(self._parts(schema, self._depth))

    def fields(self, schema: Any) -> list[str]:
        """The members of an object schema, as `name: type` or `name?: type`."""
        return self._fields(schema, self._depth + 1)

    def _parts(self, schema: Any, depth: int) -> list[str]:
        """The alternatives of a type; a reference met inside itself is cut."""
        self._nodes_left -= 1
        reference = str(schema.get("$ref", "")) if isinstance(schema, dict) else ""
        if self._nodes_left < 0 or len(self._path) > MAX_NESTING or (reference and reference in self._path):
            return [CUT]
        self._path.append(reference)
        found = ["never"] if schema is False else self._alternatives(resolved(schema, self._root), depth)
        self._path.pop()
        return found

    def _alternatives(self, schema: Schema, depth: int) -> list[str]:
        if "const" in schema:
            return [_literal(schema["const"])]
        if isinstance(schema.get("enum"), list):
            return _literals(schema["enum"])
        if branches(schema):
            found = [part for branch in branches(schema) for part in self._parts(branch, depth)]
        else:
            found = [part for name in _type_names(schema) for part in self._of_type(name, schema, depth)]
        if schema.get("nullable") is True:
            found.append("null")
        return list(dict.fromkeys(found)) or ["any"]

    def _of_type(self, name: str, schema: Schema, depth: int) -> list[str]:
        if name == "array":
            return [self._array(schema, depth)]
        if name == "object":
            return [self._object(schema, depth)]
        if name == "any" and isinstance(schema.get("allOf"), list):
            parts = ["|".join(self._parts(part, depth)) for part in schema["allOf"]]
            return [" & ".join(dict.fromkeys(parts))]
        return [name]

    def _array(self, schema: Schema, depth: int) -> str:
        prefix = schema.get("prefixItems")
        if isinstance(prefix, list):
            return f"[{', '.join('|'.join(self._parts(item, depth)) for item in prefix)}]"
        if not isinstance(schema.get("items"), dict):
            return "array"
        parts = self._parts(schema["items"], depth)
        return f"{parts[0]}[]" if len(parts) == 1 else f"({'|'.join(parts)})[]"

    def _object(self, schema: Schema, depth: int) -> str:
        if members(schema, self._root).properties:
            return f"{{{', '.join(self._fields(schema, depth))}}}" if depth > 0 else self._unopened_object
        values = schema.get("additionalProperties")
        if depth > 0 and isinstance(values, dict) and values:
            return f"{{[key]: {'|'.join(self._parts(values, depth - 1))}}}"
        return "object"

    def _fields(self, schema: Any, depth: int) -> list[str]:
        found = members(schema, self._root)
        fields = []
        for name in found.in_order():
            mark = "" if name in found.required else "?"
            fields.append(f"{_field_name(name)}{mark}: {'|'.join(self._parts(found.properties[name], depth - 1))}")
            if self._nodes_left < 0:
                return [*fields, CUT]
        return fields


def _type_names(schema: Schema) -> list[str]:
    given = schema.get("type")
    names = [
        name
        for name in (given if isinstance(given, list) else [given])
        if isinstance(name, str) and _TYPE_NAME.fullmatch(name)
    ]
    if names:
        return names
    if isinstance(schema.get("properties"), dict):
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else ["any"]


def _literals(values: Iterable[Any]) -> list[str]:
    """The allowed values, as many as are short enough to list."""
    shown: list[str] = []
    room = LITERALS_CHARACTERS
    for value in values:
        text = _literal(value)
        room -= len(text) + 1
        if room < 0:
            return [*shown, CUT]
        shown.append(text)
    return list(dict.fromkeys(shown)) or ["never"]


def _literal(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LITERAL_CHARACTERS else f"{text[: LITERAL_CHARACTERS - 1]}{CUT}"


def _field_name(name: str) -> str:
    return name if _FIELD_NAME.fullmatch(name) else _literal(name)
