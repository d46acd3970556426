"""A type back to JSON Schema, with a note for whatever a schema cannot say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import isfinite
from typing import Any

from toolcrib.rtfs.forms import Literal
from toolcrib.rtfs.types import (
    NEVER,
    STRING,
    Alias,
    And,
    Array,
    Enum,
    Fn,
    Map,
    MapOf,
    Predicate,
    Primitive,
    Resource,
    Tuple,
    TypeExpr,
    Union,
    Val,
    Vector,
)
from toolcrib.schema.conditions import keywords_for

_NAMES = {"string": "string", "int": "integer", "float": "number", "bool": "boolean", "nil": "null"}
_FORMATS = {"timestamp": "date-time", "uuid": "uuid"}


@dataclass(frozen=True, slots=True)
class Described:
    """The schema of a type, and what of the type it does not say."""

    schema: dict[str, Any]
    warnings: tuple[str, ...] = ()


def json_schema(type: TypeExpr) -> Described:
    """The schema that allows what the type allows, or more where a schema has no words for it."""
    writer = _Writer()
    return Described(writer.schema(type), tuple(writer.warnings))


class _Writer:
    def __init__(self) -> None:
        self.warnings: dict[str, None] = {}

    def schema(self, type: TypeExpr) -> dict[str, Any]:
        if isinstance(type, Primitive):
            return self._primitive(type)
        if isinstance(type, (Enum, Val)):
            return self._values(type)
        if isinstance(type, (Map, MapOf)):
            return self._object(type)
        if isinstance(type, (Vector, Tuple, Array)):
            return self._array(type)
        if isinstance(type, Union):
            return self._union(type)
        return self._and(type) if isinstance(type, And) else self._unknown(type)

    def _primitive(self, type: Primitive) -> dict[str, Any]:
        if type.name in _NAMES:
            return {"type": _NAMES[type.name]}
        if type.name in {"keyword", "symbol"}:
            self._note(f":{type.name} is written as a string")
            return {"type": "string"}
        return {"not": {}} if type == NEVER else {}

    def _values(self, type: Enum | Val) -> dict[str, Any]:
        literals = type.values if isinstance(type, Enum) else (type.value,)
        values = [literal.value for literal in literals if self._is_json(literal)]
        if isinstance(type, Val):
            return {"const": values[0]} if values else {}
        return {"enum": values} if values else {}

    def _is_json(self, literal: Literal) -> bool:
        if literal.kind in {"keyword", "timestamp", "uuid"}:
            self._note(f"values that are a {literal.kind} are written as strings")
        is_json = literal.kind != "float" or isfinite(float(literal.value or 0))
        if not is_json:
            self._note("JSON has no infinite numbers")
        return is_json

    def _object(self, type: Map | MapOf) -> dict[str, Any]:
        if isinstance(type, MapOf):
            if type.key != STRING:
                self._note("keys of an object are always strings")
            return {"type": "object", "additionalProperties": self.schema(type.value)}
        found: dict[str, Any] = {"type": "object"}
        if type.entries:
            found["properties"] = {entry.key: self.schema(entry.type) for entry in type.entries}
        required = [entry.key for entry in type.entries if not entry.optional]
        if required:
            found["required"] = required
        if type.rest is not None:
            found["additionalProperties"] = False if type.rest == NEVER else self.schema(type.rest)
        return found

    def _array(self, type: Vector | Tuple | Array) -> dict[str, Any]:
        if isinstance(type, Vector):
            return {"type": "array", "items": self.schema(type.item)}
        if isinstance(type, Tuple):
            items = [self.schema(item) for item in type.items]
            return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
        dimensions = type.dimensions or (None,)
        return reduce(_in_dimension, reversed(dimensions), self.schema(type.item))

    def _union(self, type: Union) -> dict[str, Any]:
        found = [self.schema(member) for member in type.members]
        if all(schema.keys() == {"type"} for schema in found):
            return {"type": list(dict.fromkeys(schema["type"] for schema in found))}
        return {"anyOf": found}

    def _and(self, type: And) -> dict[str, Any]:
        """One schema where its keywords do not meet, else `allOf`."""
        parts = [self.schema(type.base), *map(self._condition, type.parts)]
        joined: dict[str, Any] = {}
        for part in parts:
            if joined.keys() & part.keys():
                return {"allOf": parts}
            joined |= part
        return joined

    def _condition(self, part: Predicate | TypeExpr) -> dict[str, Any]:
        if not isinstance(part, Predicate):
            return self.schema(part)
        found = keywords_for(part)
        if found is None:
            self._note(f"the condition :{part.name} is left out")
        return found or {}

    def _unknown(self, type: Alias | Resource | Fn) -> dict[str, Any]:
        if isinstance(type, Alias) and type.name in _FORMATS:
            self._note(f":{type.name} is written as a string")
            return {"type": "string", "format": _FORMATS[type.name]}
        kind = "a function" if isinstance(type, Fn) else f"the type {type.name}"
        self._note(f"{kind} is written as anything")
        return {}

    def _note(self, text: str) -> None:
        self.warnings[text] = None


def _in_dimension(schema: dict[str, Any], size: int | None) -> dict[str, Any]:
    bounds = {} if size is None else {"minItems": size, "maxItems": size}
    return {"type": "array", "items": schema, **bounds}
