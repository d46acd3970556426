"""Bounds of a schema as predicates of a type, and back."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from toolcrib.rtfs.forms import Literal, literal
from toolcrib.rtfs.types import FLOAT, INT, STRING, And, Predicate, TypeExpr, Vector
from toolcrib.schema.shape import Schema

MAX_BOUND = 10**18
MAX_PATTERN_CHARACTERS = 1_000

_OF_NUMBERS = {"minimum": ">=", "maximum": "<=", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
_OF_STRINGS = {"minLength": "min-length", "maxLength": "max-length"}
_OF_VECTORS = {"minItems": "min-count", "maxItems": "max-count"}
_KEYWORDS = {name: key for table in (_OF_NUMBERS, _OF_STRINGS, _OF_VECTORS) for key, name in table.items()}


def with_conditions(type: TypeExpr, schema: Schema) -> TypeExpr:
    """The type with the bounds its schema sets."""
    found: list[Predicate] = []
    if type in {INT, FLOAT}:
        found += _number_bounds(schema)
    elif type == STRING:
        found += _sizes(schema, _OF_STRINGS)
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and len(pattern) <= MAX_PATTERN_CHARACTERS:
            found.append(Predicate("matches-regex", (literal(pattern),)))
    elif isinstance(type, Vector):
        found += _sizes(schema, _OF_VECTORS)
    return And(type, tuple(found)) if found else type


def keywords_for(predicate: Predicate) -> dict[str, Any] | None:
    """What a schema says for a predicate; None where it cannot say it."""
    values = [argument.value for argument in predicate.arguments if isinstance(argument, Literal)]
    if any(isinstance(value, float) and not isfinite(value) for value in values):
        return None
    if predicate.name in _KEYWORDS:
        return {_KEYWORDS[predicate.name]: values[0]}
    if predicate.name == "matches-regex":
        return {"pattern": values[0]}
    if predicate.name == "in-range":
        return {"minimum": values[0], "maximum": values[1]}
    same = {"length": ("minLength", "maxLength"), "count": ("minItems", "maxItems")}.get(predicate.name)
    if same:
        return dict.fromkeys(same, values[0])
    return (
        {"const": values[0]}
        if predicate.name == "="
        else {"not": {"const": values[0]}}
        if predicate.name == "!="
        else None
    )


def _number_bounds(schema: Schema) -> Iterator[Predicate]:
    for key, name in _OF_NUMBERS.items():
        value = schema.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= MAX_BOUND:
            continue
        # Draft 4 turned a bound into an excluded one by a flag beside it.
        is_excluded = schema.get(f"exclusive{key[0].upper()}{key[1:]}") is True
        yield Predicate(name.rstrip("=") if is_excluded else name, (literal(value),))


def _sizes(schema: Schema, table: dict[str, str]) -> Iterator[Predicate]:
    for key, name in table.items():
        value = schema.get(key)
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and 0 <= value <= MAX_BOUND
            and (value or "max" in key)
        ):
            yield Predicate(name, (literal(value),))
