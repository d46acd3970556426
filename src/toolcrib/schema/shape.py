"""Looks into a schema as it stands: where local references lead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

MAX_HOPS = 8
MAX_REFERENCE_CHARACTERS = 512

Schema = Mapping[str, Any]


def target(reference: str, root: Any) -> Any:
    """What a local reference points to, or None; nothing outside the document is ever looked at."""
    if len(reference) > MAX_REFERENCE_CHARACTERS or not (reference == "#" or reference.startswith("#/")):
        return None
    found = root
    for step in reference.split("/")[1:]:
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
