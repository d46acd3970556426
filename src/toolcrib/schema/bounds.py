"""Which schemas are small and self-contained enough to be used at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.schema.budget import Unusable

MAX_NODES = 20_000
MAX_DEPTH = 64


def refuse_unbounded(schema: Mapping[str, Any]) -> None:
    """Raise Unusable for a schema that is too large, points outside itself or holds another schema document."""
    keywords: set[str] = set()
    level: list[Any] = [{key: value for key, value in schema.items() if key not in ("$schema", "$id")}]
    nodes = depth = 0
    while level:
        nodes, depth = nodes + len(level), depth + 1
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            raise Unusable(f"the schema has more than {MAX_NODES} parts or {MAX_DEPTH} levels")
        for value in level:
            if isinstance(value, dict):
                _refuse_outside(value)
                keywords.update(value)
        level = [child for value in level for child in _children(value)]
    if {"patternProperties", "unevaluatedProperties"} <= keywords:
        # The library runs these patterns without a limit of time.
        raise Unusable("the schema combines patternProperties with unevaluatedProperties")


def why_unusable(schema: Mapping[str, Any]) -> str:
    """Why no arguments can be checked against a schema, or nothing."""
    try:
        refuse_unbounded(schema)
    except Unusable as reason:
        return str(reason)
    return ""


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _refuse_outside(schema: Mapping[str, Any]) -> None:
    if isinstance(schema.get("$schema"), str) or isinstance(schema.get("$id"), str):
        raise Unusable("the schema holds another schema document")
    for key in ("$ref", "$dynamicRef"):
        target = schema.get(key)
        if isinstance(target, str) and not target.startswith("#"):
            raise Unusable(f"the schema refers to {target[:80]!r}, which is never fetched")
