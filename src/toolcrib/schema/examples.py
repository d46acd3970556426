"""Examples of a tool's use: those its server gave, or one made up from its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.schema.safe_values import own_value, plausible_arguments
from toolcrib.schema.shape import members, resolved

MAX_EXAMPLES = 5
# It stands in the details of the tool, which are to stay short.
LONGEST_PUT_TOGETHER = 200


def examples(definition: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The server's own examples: whole ones, else one put together from those of the single parameters."""
    found: list[dict[str, Any]] = []
    for example in _given(definition):
        if isinstance(example, dict) and example and example not in found:
            found.append(example)
        if len(found) == MAX_EXAMPLES:
            break
    if not found:
        found.extend(_put_together(definition.get("inputSchema")))
    return tuple(found)


def made_up_example(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that fit the schema and that nobody gave; empty where the tool needs none."""
    schema = definition.get("inputSchema")
    return plausible_arguments(schema) if isinstance(schema, Mapping) else {}


def _given(definition: Mapping[str, Any]) -> Iterator[Any]:
    for place in ("inputSchema", "_meta", "annotations"):
        holder = definition.get(place)
        given = holder.get("examples") if isinstance(holder, Mapping) else None
        if isinstance(given, list):
            yield from given


def _put_together(schema: Any) -> Iterator[dict[str, Any]]:
    """One example, where some parameter has one of its own and every required one a value the schema names."""
    found = members(schema, schema)
    wholes = {name: resolved(found.properties[name], schema) for name in found.in_order()}
    shown = {name: whole["examples"][0] for name, whole in wholes.items() if _has_example(whole)}
    others = {name: own_value(wholes[name]) for name in wholes if name in found.required and name not in shown}
    if shown and all(is_own for is_own, _ in others.values()):
        whole = {name: shown[name] if name in shown else others[name][1] for name in wholes if name in shown | others}
        if len(json.dumps(whole, default=str)) <= LONGEST_PUT_TOGETHER:
            yield whole


def _has_example(schema: Mapping[str, Any]) -> bool:
    given = schema.get("examples")
    return isinstance(given, list) and bool(given)
