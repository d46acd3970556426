"""A value that a person typed, read as the type that is expected there."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from toolcrib.rtfs.types import And, Array, Enum, Map, MapOf, Primitive, Tuple, TypeExpr, Val, Vector, members_of
from toolcrib.schema.signature import short_type

SHOWN_CHARACTERS = 80

_TEXTS = frozenset(("string", "keyword", "symbol"))
_NOT_JSON = object()


class NotOfType(ValueError):
    """The text is no value of the type; the message says what was expected."""


def from_text(text: str, type: TypeExpr) -> Any:
    """The value a text stands for: itself where a text may be given, else the number, the boolean or the JSON it spells.

    Where anything may be given, what is JSON counts as such. One item stands for a list of one.
    """
    alternatives = list(bare_members(type))
    for value in _listed_values(alternatives):
        if text == (value if isinstance(value, str) else json.dumps(value)):
            return value
    if any(isinstance(one, Primitive) and one.name in _TEXTS for one in alternatives):
        return text
    value = _json(text)
    for one in alternatives:
        if value is not _NOT_JSON and _fits(value, one):
            return int(value) if one == Primitive("int") else value
    if any(one == Primitive("any") for one in alternatives):
        return text
    if (item := item_type(type)) is not None:
        return [from_text(text, item)]
    expected = short_type(type, limit=SHOWN_CHARACTERS)
    raise NotOfType(f"expected {expected}, found {text[:SHOWN_CHARACTERS]!r}")


def from_json(text: str) -> Any:
    """The value of a JSON text."""
    value = _json(text)
    if value is _NOT_JSON:
        raise NotOfType(f"expected JSON, found {text[:SHOWN_CHARACTERS]!r}")
    return value


def item_type(type: TypeExpr) -> TypeExpr | None:
    """The type of the items where a list may be given, else None."""
    return next((one.item for one in bare_members(type) if isinstance(one, Vector | Array)), None)


def bare_members(type: TypeExpr) -> Iterator[TypeExpr]:
    """The alternatives of a type without the conditions on them: those are checked with the whole call."""
    for member in members_of(type):
        yield from bare_members(member.base) if isinstance(member, And) else [member]


def _listed_values(alternatives: Sequence[TypeExpr]) -> Iterator[Any]:
    for one in alternatives:
        if isinstance(one, Enum):
            yield from (value.value for value in one.values)
        elif isinstance(one, Val):
            yield one.value.value


def _fits(value: Any, type: TypeExpr) -> bool:
    if isinstance(type, Enum | Val):
        return False  # looked at before
    if isinstance(type, Vector | Array | Tuple):
        return isinstance(value, list)
    if isinstance(type, Map | MapOf):
        return isinstance(value, dict)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    kinds = {
        "int": is_number and value == int(value),
        "float": is_number,
        "bool": isinstance(value, bool),
        "nil": value is None,
    }
    return not isinstance(type, Primitive) or kinds.get(type.name, type.name == "any")


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_json, parse_float=_finite)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_json(digits)


def _no_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")
