"""Looks into a schema as it stands: local references followed, members of an object gathered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

MAX_HOPS = 8
MAX_MERGED_PARTS = 32
MAX_REFERENCE_CHARACTERS = 512

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Members:
    """The properties of an object schema, in the server's order, and the names of those it requires."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()

    def in_order(self) -> list[str]:
        """Required names first, each group in the server's order."""
        return sorted(self.properties, key=lambda name: name not in self.required)


def resolved(schema: Any, root: Any) -> Schema:
    """The schema with its local `$ref` followed; empty where that leads nowhere or in circles."""
    for _ in range(MAX_HOPS):
        if not isinstance(schema, Mapping):
            break
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        target = _target(reference, root)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **beside} if isinstance(target, Mapping) else beside
    return {}


def members(schema: Any, root: Any) -> Members:
    """What an object schema says about its properties, those of its `allOf` parts included."""
    whole = resolved(schema, root)
    properties: dict[str, Any] = {}
    required: set[str] = set()
    merged = _list(whole.get("allOf"))[:MAX_MERGED_PARTS]
    for part in (*(resolved(part, root) for part in merged), whole):
        own = part.get("properties")
        properties |= own if isinstance(own, Mapping) else {}
        required |= {name for name in _list(part.get("required")) if isinstance(name, str)}
    return Members(properties, frozenset(required))


def branches(schema: Schema) -> list[Any]:
    """The alternatives a schema allows, by `anyOf` or `oneOf`."""
    return _list(schema.get("anyOf")) or _list(schema.get("oneOf"))


def _target(reference: str, root: Any) -> Any:
    if len(reference) > MAX_REFERENCE_CHARACTERS or not (reference == "#" or reference.startswith("#/")):
        return None
    found = root
    for step in reference.split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
