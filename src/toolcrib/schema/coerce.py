"""Texts that stand in place of the value they are the JSON of: `"3"` for an integer, `"true"` for a boolean; and needless nulls.

Models quote values, and clients turn objects into texts. What a text means is never guessed: it is taken only where the
schema allows no text there, where it is JSON of an allowed type, and where writing that value gives the same text again.
Models also write null for what they do not want to give: it is left out where the schema allows no null and needs nothing there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from toolcrib.wire.jsonrpc import on_one_line

Place = tuple[str | int, ...]
# In place of a value's JSON: the argument is not given at all.
LEFT_OUT = ""

# Beyond this not every server reads an integer exactly.
LARGEST_INTEGER = 2**53 - 1

_INTEGER = re.compile(r"-?[1-9][0-9]{0,15}|0")
_WORDS = {"true": "boolean", "false": "boolean", "null": "null"}
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def misplaced_texts(errors: Iterable[Any]) -> Iterator[tuple[Place, str]]:
    """Where a text stands for a value of another type, and the JSON of that value; from what a validator found wrong."""
    for error in errors:
        if isinstance(error.instance, str):
            value = _meant(error.instance, _allowed_types(error))
            if value:
                yield tuple(error.absolute_path), value


def needless_nulls(errors: Iterable[Any], required: object) -> Iterator[tuple[Place, str]]:
    """The arguments that are null though the schema allows no null there, unless they are required."""
    names = required if isinstance(required, list) else []
    for error in errors:
        place = tuple(error.absolute_path)
        types = _allowed_types(error, text_too=True)
        if error.instance is None and len(place) == 1 and place[0] not in names and types and "null" not in types:
            yield place, LEFT_OUT


def put_right(arguments: bytes, values: Mapping[Place, str]) -> bytes:
    """The arguments with other values at these places, or none; whatever is not on the way to one stays as it was written."""
    if () in values:
        return on_one_line(values[()].encode())
    below: dict[str | int, dict[Place, str]] = {}
    for (step, *rest), value in values.items():
        below.setdefault(step, {})[tuple(rest)] = value
    if any(isinstance(step, int) for step in below):
        items = enumerate(_items(arguments))
        return b"[%b]" % b",".join(put_right(bytes(item), below.get(index, {})) for index, item in items)
    if not below:
        return arguments
    members = [(name, v) for name, v in _members(arguments).items() if below.get(name) != {(): LEFT_OUT}]
    pairs = (b"%b:%b" % (msgspec.json.encode(name), put_right(bytes(v), below.get(name, {}))) for name, v in members)
    return b"{%b}" % b",".join(pairs)


def _allowed_types(error: Any, *, text_too: bool = False) -> frozenset[str]:
    """The types the schema allows where the error is, if nothing but the type is wrong; none where a text is one of them."""
    if error.validator == "type":
        types = _names(error.validator_value)
    elif error.validator in ("anyOf", "oneOf") and error.context and all(map(_is_wrong_type, error.context)):
        types = frozenset().union(*(_names(child.validator_value) for child in error.context))
    else:
        types = frozenset()
    return frozenset() if "string" in types and not text_too else types


def _is_wrong_type(error: Any) -> bool:
    return error.validator == "type" and not error.relative_path


def _names(types: Any) -> frozenset[str]:
    return frozenset(name for name in (types if isinstance(types, list) else [types]) if isinstance(name, str))


def _meant(text: str, types: frozenset[str]) -> str:
    """The JSON that a text is, if it is of an allowed type and can be written only this way; else nothing."""
    if not types:
        return ""
    if text in _WORDS:
        return text if _WORDS[text] in types else ""
    if _INTEGER.fullmatch(text):
        return text if types & {"integer", "number"} and abs(int(text)) <= LARGEST_INTEGER else ""
    return text if _type_of_json(text) in types else ""


def _type_of_json(text: str) -> str:
    try:
        value = msgspec.json.decode(text)
    except (ValueError, msgspec.DecodeError, RecursionError):
        return ""
    if isinstance(value, float) and json.dumps(value) == text:
        return "number"
    return "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
