"""What an edit is: a place in nested data, and what becomes of it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

Key = str | int
Place = tuple[Key, ...]


class EditRefused(ValueError):
    """The text cannot be edited without risk; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Put:
    """Give the place this value; missing maps on the way are made, a list grows at its end."""

    place: Place
    value: Any


@dataclass(frozen=True, slots=True)
class Drop:
    """Take the key or the list item away; one that is not there is no mistake."""

    place: Place


Change = Put | Drop


def changed_data(data: Any, changes: Iterable[Change]) -> Any:
    """The same changes made to plain data: what the edited text has to mean."""
    result = copy.deepcopy(data) if data is not None else {}
    for change in changes:
        if isinstance(change, Put):
            _put(result, change.place, copy.deepcopy(change.value))
        else:
            _drop(result, change.place)
    return result


def nested(place: Place, value: Any) -> Any:
    """The value inside of the maps and lists that lead to it."""
    for key in reversed(place):
        value = [value] if isinstance(key, int) else {key: value}
    return value


def out_of_place(key: Key) -> EditRefused:
    """The refusal of a name where there is no map, or of a number where there is no list."""
    return EditRefused(f"'{key}' can't be set here: expected a {'list' if isinstance(key, int) else 'map'}")


def look_up(data: Any, place: Place) -> Any:
    """What is at a place, or None."""
    for key in place:
        if not _has(data, key):
            return None
        data = data[key]
    return data


def _put(data: Any, place: Place, value: Any) -> None:
    *way, last = place
    for key, following in zip(way, place[1:], strict=True):
        if not _has(data, key) or data[key] is None:
            _set(data, key, [] if isinstance(following, int) else {})
        data = data[key]
    _set(data, last, value)


def _set(data: Any, key: Key, value: Any) -> None:
    if isinstance(data, list) and isinstance(key, int) and key == len(data):
        data.append(value)
    elif isinstance(data, dict | list) and (_has(data, key) or (isinstance(data, dict) and isinstance(key, str))):
        cast("Any", data)[key] = value
    else:
        raise out_of_place(key)


def _drop(data: Any, place: Place) -> None:
    parent = look_up(data, place[:-1])
    if _has(parent, place[-1]):
        del parent[place[-1]]


def _has(data: Any, key: Key) -> bool:
    if isinstance(data, dict):
        return isinstance(key, str) and key in data
    return isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data)
