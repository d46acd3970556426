"""The values a schema allows, as types: `enum` and `const`."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

from toolcrib.rtfs.forms import MAX_DIGITS, Literal, literal
from toolcrib.rtfs.published_form import type_of_literals
from toolcrib.rtfs.types import FLOAT, INT, And, Enum, TypeExpr, Val
from toolcrib.schema.shape import Schema

MAX_VALUES = 1_000


def allowed_values(schema: Schema) -> TypeExpr | None:
    """The type of a schema that lists its values; None where it lists none, or some that no literal can stand for."""
    if "const" in schema:
        values = _literals([schema["const"]])
        return Val(values[0]) if values else None
    given = schema.get("enum")
    values = _literals(given) if isinstance(given, list) and len(given) <= MAX_VALUES else ()
    if not values:
        return None
    found = Enum(tuple(dict.fromkeys(values)))
    # A number that happens to be listed without a fraction is still a number.
    is_number = schema.get("type") == "number" and type_of_literals(values) == INT
    return And(FLOAT, (found,)) if is_number else found


def _literals(values: Iterable[Any]) -> tuple[Literal, ...]:
    """The values as literals; none at all where one of them is not plain."""
    values = list(values)
    return tuple(map(literal, values)) if all(map(_is_plain, values)) else ()


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, int):
        return bool(abs(value) < 10**MAX_DIGITS)
    return value is None or isinstance(value, str)
