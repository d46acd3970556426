"""The lines of a result as a person would read it: of JSON its values, decoded, each with the pointer to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `place` is a JSON pointer, with the line's number in a text of several lines; `key` is the value's name.

    Where all is one text, the number alone is the place.
    """

    place: str
    text: str
    key: str = ""

    @property
    def searched(self) -> str:
        """The line as it would stand in JSON that is not escaped."""
        return f'"{self.key}": {self.text}' if self.key else self.text

    def __str__(self) -> str:
        return f"{self.place.removeprefix(':') or 1}: {self.text}"


def json_lines(text: str, pointer: str = "") -> list[Line] | None:
    """The values in a JSON text, line by line; None where it is no JSON. `pointer` is where the text was found."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return list(_lines(value, pointer))


def _lines(value: Any, pointer: str) -> Iterator[Line]:
    """In the order of the text; with a stack of its own, since foreign JSON may be nested deeper than calls can be."""
    left: list[tuple[Any, str, str]] = [(value, pointer, "")]
    while left:
        found, place, key = left.pop()
        members = _members(found)
        if members:
            left.extend((item, f"{place}/{_step(name)}", _key(found, name)) for name, item in reversed(members))
        else:
            yield from _value_lines(found, place, key)


def _members(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def _value_lines(value: Any, place: str, key: str) -> Iterator[Line]:
    if not isinstance(value, str):
        yield Line(place, json.dumps(value), key)
    elif "\n" not in value:
        yield Line(place, f'"{value}"', key)
    else:
        for number, line in enumerate(value.split("\n"), 1):
            yield Line(f"{place}:{number}", line.removesuffix("\r"))


def _key(holder: Any, name: Any) -> str:
    return name if isinstance(holder, dict) else ""


def _step(name: Any) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
