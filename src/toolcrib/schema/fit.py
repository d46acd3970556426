"""Whether a value still has a shape that was learnt, and where not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.schema.infer import SampleTooLarge, trimmed
from toolcrib.schema.type_names import type_name

WHOLE = "the whole result"
PATH_CHARACTERS = 80

Schema = Mapping[str, Any]


def misfit(schema: Schema, value: Any) -> str:
    """Where a value leaves a learnt shape (`items[].id`), or nothing; a field that is new fits, data in keys is shown as `*`."""
    try:
        path = _first_misfit(schema, trimmed(value), "")
    except SampleTooLarge:
        return ""
    return "" if path is None else path.lstrip(".")[:PATH_CHARACTERS] or WHOLE


def _first_misfit(schema: Schema, value: Any, path: str) -> str | None:
    if not schema:
        return None
    fitting = [branch for branch in _branches(schema) if _is_of_type(branch, value)]
    if not fitting:
        return path
    for branch, part, where in _parts(fitting[0], value, path):
        found = where if branch is None else _first_misfit(branch, part, where)
        if found is not None:
            return found
    return None


def _parts(schema: Schema, value: Any, path: str) -> Iterator[tuple[Schema | None, Any, str]]:
    """What is inside a value, each with the shape it should have; None for a part that is missing."""
    if isinstance(value, list):
        yield from ((schema.get("items", {}), item, f"{path}[]") for item in value)
    elif isinstance(value, dict):
        known = schema.get("properties", {})
        yield from ((None, None, f"{path}.{name}") for name in schema.get("required", ()) if name not in value)
        for name, part in value.items():
            if name in known:
                yield known[name], part, f"{path}.{name}"
            else:
                yield schema.get("additionalProperties", {}), part, f"{path}.*"


def _branches(schema: Schema) -> list[Schema]:
    return list(schema.get("anyOf", [schema]))


def _is_of_type(schema: Schema, value: Any) -> bool:
    given = schema.get("type")
    names = given if isinstance(given, list) else [given]
    kind = type_name(value)
    return given is None or kind in names or (kind == "integer" and "number" in names)
