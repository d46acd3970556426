"""Arguments made up from an input schema: the least a tool can be called with, or a plausible example of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from toolcrib.schema.shape import Schema, branches, members, resolved

MOST_DEPTH = 8
MOST_PARTS = 500
MOST_LENGTH = 1_000
MOST_ITEMS = 20
MOST_BITS = 64

_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")
_ZEROS = "0" * 40
# The first word found in a parameter's name decides.
_BY_NAME: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"email"}), "example@example.com"),
    (frozenset({"url", "uri"}), "https://example.com"),
    (frozenset({"sha", "commit"}), _ZEROS),
    (frozenset({"repo", "repository"}), "hello-world"),
    (frozenset({"owner", "user", "username"}), "octocat"),
    (frozenset({"path"}), "README.md"),
)
_BY_FORMAT = {
    "email": "example@example.com",
    "uri": "https://example.com",
    "date": "2024-01-01",
    "date-time": "2024-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "ipv4": "127.0.0.1",
    "hostname": "example.com",
}
_ANY_WORD = "example"


def safe_arguments(schema: Schema, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The least arguments a tool takes: required ones only, each as small as its schema allows; `given` ones win."""
    return {**_Values(schema, plausible=False).arguments(), **(given or {})}


def plausible_arguments(schema: Schema, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The same with values such as a person might try, told from the names of the parameters; `given` ones win."""
    return {**_Values(schema, plausible=True).arguments(), **(given or {})}


class _Values:
    """Makes values for the parts of one schema document, no more than a bounded number of them."""

    def __init__(self, root: Schema, *, plausible: bool) -> None:
        self._root = root
        self._plausible = plausible
        self._parts_left = MOST_PARTS

    def arguments(self) -> dict[str, Any]:
        return self._object(self._root, MOST_DEPTH)

    def _object(self, schema: Any, depth: int) -> dict[str, Any]:
        if self._parts_left <= 0:
            return {}
        found = members(schema, self._root)
        required = [name for name in found.properties if name in found.required]
        return {name: self._value(found.properties[name], name, depth - 1) for name in required}

    def _value(self, schema: Any, name: str, depth: int) -> Any:
        self._parts_left -= 1
        whole = resolved(schema, self._root)
        is_own, own = own_value(whole)
        if is_own:
            return own
        if branches(whole):
            return self._value(self._likeliest(whole), name, depth - 1) if depth > 0 else None
        return self._of_type(_type_of(whole), whole, name, depth)

    def _likeliest(self, schema: Schema) -> Any:
        """The first alternative that is something."""
        options = [resolved(branch, self._root) for branch in branches(schema)]
        return next((option for option in options if _type_of(option) != "null"), options[0])

    def _of_type(self, kind: str, schema: Schema, name: str, depth: int) -> Any:
        if kind == "object":
            return self._object(schema, depth) if depth > 0 else {}
        if kind == "array":
            return self._array(schema, name, depth)
        if kind in ("integer", "number"):
            return _least_number(schema, whole=kind == "integer")
        if kind == "boolean":
            return False
        return None if kind == "null" else self._text(schema, name)

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        wanted = min(_count(schema, "minItems"), MOST_ITEMS, max(0, self._parts_left))
        if depth <= 0:
            return []
        return [self._value(schema.get("items", {}), name, depth - 1) for _ in range(wanted)]

    def _text(self, schema: Schema, name: str) -> str:
        text = _likely_text(schema, name) if self._plausible else ""
        longest = schema.get("maxLength")
        if isinstance(longest, int) and longest >= 0:
            text = text[:longest]
        return text.ljust(min(_count(schema, "minLength"), MOST_LENGTH), "x")


def own_value(schema: Schema) -> tuple[bool, Any]:
    """Whether a schema itself says which value to use, and that value."""
    if "const" in schema:
        return True, schema["const"]
    for key in ("enum", "default", "examples"):
        value = schema.get(key)
        if key == "default" and key in schema:
            return True, value
        if key != "default" and isinstance(value, list) and value:
            return True, value[0]
    return False, None


def _type_of(schema: Schema) -> str:
    given = schema.get("type")
    names = [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]
    if names:
        return next((name for name in names if name != "null"), "null")
    return "object" if isinstance(schema.get("properties"), Mapping) else "array" if "items" in schema else "string"


def _least_number(schema: Schema, *, whole: bool) -> float | int:
    """The minimum where there is one, else 0, or the maximum where 0 is too much."""
    least, above = _number(schema, "minimum"), _number(schema, "exclusiveMinimum")
    most = _number(schema, "maximum")
    if above is not None and (least is None or above >= least):
        least = math.floor(above) + 1
    if least is None:
        least = most if most is not None and most < 0 else 0
    return math.ceil(least) if whole else least


def _likely_text(schema: Schema, name: str) -> str:
    formatted = _BY_FORMAT.get(str(schema.get("format")))
    if formatted is not None:
        return formatted
    words = {word.lower() for word in _WORD_BREAK.split(name)}
    return next((text for keys, text in _BY_NAME if keys & words), _ANY_WORD)


def _number(schema: Schema, key: str) -> float | int | None:
    """A bound of a schema; one that no usual number can reach is none."""
    value = schema.get(key)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    is_bound = isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= MOST_BITS
    return value if is_bound else None


def _count(schema: Schema, key: str) -> int:
    value = schema.get(key)
    return max(0, value) if isinstance(value, int) else 0
