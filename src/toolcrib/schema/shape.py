"""Looks into a schema as it stands: where local references lead, members of an object gathered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
        found = target(reference, root)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**found, **beside} if isinstance(found, Mapping) else beside
    return {}


def members(schema: Any, root: Any) -> Members:
    """What an object schema says about its properties, those of its `allOf` parts included."""
    whole = resolved(schema, root)
    properties: dict[str, Any] = {}
    required: set[str] = set()
    merged = listed(whole, "allOf")[:MAX_MERGED_PARTS]
    for part in (*(resolved(part, root) for part in merged), whole):
        own = part.get("properties")
        properties |= own if isinstance(own, Mapping) else {}
        required |= {name for name in listed(part, "required") if isinstance(name, str)}
    return Members(properties, frozenset(required))


def branches(schema: Schema) -> list[Any]:
    """The alternatives a schema allows, by `anyOf` or `oneOf`."""
    return listed(schema, "anyOf") or listed(schema, "oneOf")


def target(reference: str, root: Any) -> Any:
    """What a local reference points to, or None; nothing outside the document is ever looked at."""
    if len(reference) > MAX_REFERENCE_CHARACTERS or not (reference == "#" or reference.startswith("#/")):
        return None
    found = root
    for step in reference.split("/")[1:]:
        if found is None:
            break
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(key)] if key.isdecimal() and len(key) < 6 and int(key) < len(found) else None
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found


def description(schema: Any, root: Any) -> str:
    """What a schema, or what it refers to, says about itself: its description, else its title."""
    for key in ("description", "title"):
        for part in _chain(schema, root):
            text = part.get(key)
            if isinstance(text, str) and text.strip():
                return text.strip()
    return ""


def listed(schema: Schema, key: str) -> list[Any]:
    """The list under a key, or none."""
    value = schema.get(key)
    return value if isinstance(value, list) else []


def _chain(schema: Any, root: Any) -> Iterator[Schema]:
    for _ in range(MAX_HOPS):
        if not isinstance(schema, Mapping):
            return
        yield schema
        schema = target(str(schema.get("$ref", "")), root)
