"""What an object holds inside, as plain values by the way that leads to them, so that two objects can be compared."""

from __future__ import annotations

import asyncio
import functools
import types
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

PLAIN = (type(None), bool, int, float, str, bytes, Path, Enum)
# Different in every process, or after every reload, whatever the settings are.
BY_NATURE = {
    "owner": "a random name",
    "_owner": "a random name",
    "version": "counts changes",
    "_last_used": "a time",
    "_checked_at": "a time",
    "_seen": "when the configuration file was written",
    "watch": "the same, in the task that watches it",
    "began": "a time",
    "left": "a time",
    "taken_at": "a time",
    "_made": "worked out when it is first needed",
    "_compared": "versions of what was indexed",
    "_opened": "the same store, opened by another thread or not yet",
}


def inner_values(root: object) -> dict[str, object]:
    """Every plain value that can be reached from `root`: through our own objects, containers, functions and tasks."""
    found: dict[str, object] = {}
    waiting, met = deque([("", root)]), dict[int, object]()
    while waiting:
        way, value = waiting.popleft()
        if isinstance(value, PLAIN):
            found[way] = value
        elif id(value) not in met:
            if not _is_a_value(value):
                met[id(value)] = value  # kept, so that no other object gets its number
            found[way] = type(value).__qualname__
            waiting.extend((f"{way}.{name}", part) for name, part in _parts(value) if name not in BY_NATURE)
    return found


def differences(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """Where the two are not the same, and what they hold there."""
    ways = one.keys() | other.keys()
    return {way: (one.get(way), other.get(way)) for way in sorted(ways) if one.get(way) != other.get(way)}


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in value.items() if isinstance(key, PLAIN))
    elif isinstance(value, deque):
        yield "maxlen", value.maxlen
    elif isinstance(value, Sequence | AbstractSet):
        yield from ((f"[{number}]", part) for number, part in enumerate(_in_order(value)))
    elif isinstance(value, asyncio.Task):
        yield from _of_coroutine(value.get_coro())
    elif isinstance(value, asyncio.Semaphore):
        yield "room", value._value
    elif isinstance(value, functools.partial):
        yield from (("func", value.func), ("args", value.args), ("keywords", value.keywords))
    elif isinstance(value, types.MethodType):
        yield from (("self", value.__self__), ("function", value.__func__))
    elif isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif type(value).__module__.startswith("toolcrib."):
        yield from _of_object(value)


def _of_object(value: object) -> Iterator[tuple[str, object]]:
    if is_dataclass(value):  # without what it worked out from its fields and kept
        yield from ((field.name, getattr(value, field.name)) for field in fields(value))
        return
    yield from getattr(value, "__dict__", {}).items()
    slots = (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()))
    yield from ((name, getattr(value, name)) for name in slots if hasattr(value, name) and name != "__weakref__")


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    """What a function took along from where it was made."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from (("defaults", function.__defaults__), ("keyword defaults", function.__kwdefaults__))


def _of_coroutine(running: Any) -> Iterator[tuple[str, object]]:
    """What a task holds in its local variables, down to where it waits."""
    while running is not None and getattr(running, "cr_frame", None) is not None:
        if "/toolcrib/" in running.cr_code.co_filename:
            yield from running.cr_frame.f_locals.items()
        running = running.cr_await


def _is_a_value(thing: object) -> bool:
    """Whether it makes no difference if two hold the same one or two that are equal."""
    is_frozen = is_dataclass(thing) and type(thing).__dataclass_params__.frozen
    return is_frozen or isinstance(thing, Mapping | Sequence | AbstractSet)


def _in_order(values: Sequence[Any] | AbstractSet[Any]) -> Sequence[Any]:
    return values if isinstance(values, Sequence) else sorted(values, key=repr)
