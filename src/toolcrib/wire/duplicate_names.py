"""A name that an object has twice: one reader takes the first value, another the last, so nobody knows what was agreed to."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

_NAME_END = re.compile(rb'"\s*:')
_SPACED_COLONS = (b" :", b"\t:", b"\n:", b"\r:")


class _TwiceThere(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def name_there_twice(text: bytes, value: Any) -> str | None:
    """A name that an object in this JSON has twice, or None; `value` is what was read from the text."""
    # As many names in the text as in what was read: none was lost. A text that holds `":` only makes us look closer.
    if _most_names_in(text) == _names_in(value):
        return None
    try:
        json.loads(text, object_pairs_hook=_told_apart, parse_int=float, parse_float=float, parse_constant=_refuse)
    except _TwiceThere as found:
        return found.name
    except (ValueError, RecursionError):
        return None
    return None


def _most_names_in(text: bytes) -> int:
    """At least as many as there are names."""
    found = text.count(b'":')
    # Where every colon ends a name, as in most arguments, there is no space before one either.
    if text.count(b":") == found or not any(colon in text for colon in _SPACED_COLONS):
        return found
    return len(_NAME_END.findall(text))


def _names_in(value: Any) -> int:
    found, inside = 0, [value]
    for one in inside:
        if isinstance(one, dict):
            found += len(one)
            inside.extend(one.values())
        elif isinstance(one, list):
            inside.extend(one)
    return found


def _told_apart(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _TwiceThere(name)
        seen.add(name)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
