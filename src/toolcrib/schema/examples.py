"""Examples of a tool's use, as far as its server gave any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MAX_EXAMPLES = 5


def examples(definition: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The server's own examples: those of the input schema, else those in `_meta` or the annotations."""
    found: list[dict[str, Any]] = []
    for example in _given(definition):
        if isinstance(example, dict) and example and example not in found:
            found.append(example)
        if len(found) == MAX_EXAMPLES:
            break
    return tuple(found)


def _given(definition: Mapping[str, Any]) -> Iterator[Any]:
    for place in ("inputSchema", "_meta", "annotations"):
        holder = definition.get(place)
        given = holder.get("examples") if isinstance(holder, Mapping) else None
        if isinstance(given, list):
            yield from given
