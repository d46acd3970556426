"""What changed between two definitions, field by field and word by word, for people."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.trust.edit_script import common_runs

Operation = Literal["same", "removed", "added"]
# Step by step, so that no name of a member passes for the way to another one.
Place = tuple[tuple[Literal["member", "item"], str | int], ...]
_PARTS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of text that stayed, went or came."""

    operation: Operation
    text: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One member that differs, by its place in the definition, such as `inputSchema.properties.path.description`."""

    where: str
    parts: tuple[Part, ...]


def changed_fields(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[FieldChange]:
    """Each member that differs, in the order of the new definition; what is gone comes last."""
    old, new = dict(_members(before)), dict(_members(now))
    places = [*new, *(place for place in old if place not in new)]
    return [
        FieldChange(_written(place), tuple(_compared(old.get(place), new.get(place))))
        for place in places
        if old.get(place) != new.get(place)
    ]


def word_diff(before: str, now: str) -> Iterator[Part]:
    """The pieces of both texts, in order."""
    old, new = _PARTS.findall(before), _PARTS.findall(now)
    removed = added = ""
    at = new_at = 0
    for start, new_start, length in common_runs(old, new):
        removed, added = removed + "".join(old[at:start]), added + "".join(new[new_at:new_start])
        at, new_at = start + length, new_start + length
        stayed = "".join(old[start:at])
        # A space between two changed words belongs to them: one change is read more easily than two.
        if stayed.isspace() and removed and added and at < len(old) and new_at < len(new):
            removed, added = removed + stayed, added + stayed
            continue
        yield from _changed(removed, added)
        removed = added = ""
        yield Part("same", stayed)
    yield from _changed(removed + "".join(old[at:]), added + "".join(new[new_at:]))


def _changed(removed: str, added: str) -> Iterator[Part]:
    if removed:
        yield Part("removed", removed)
    if added:
        yield Part("added", added)


def _compared(before: str | None, now: str | None) -> Iterator[Part]:
    """The difference of two values, each as JSON; None is no value at all."""
    if before is None or now is None:
        yield Part("removed", _words(before or "")) if now is None else Part("added", _words(now))
        return
    old, new = _words(before), _words(now)
    # A number that became a text reads the same.
    yield from word_diff(old, new) if old != new else word_diff(before, now)


def _members(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Each text, number and list of a definition, as JSON, with its place; lists of plain values are one."""
    if isinstance(value, Mapping) and (value or not place):
        for name, item in value.items():
            yield from _members(item, (*place, ("member", str(name))))
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        for label, item in zip(_labels(value), value, strict=True):
            yield from _members(item, (*place, ("item", label)))
    else:
        yield place, json.dumps(value, ensure_ascii=False)


def _labels(items: Sequence[Any]) -> list[str | int]:
    """What each item is called, so that one more before it does not change its place; its number where that is no name of its own."""
    names = [_name(item) for item in items]
    times = Counter(names)
    return [number if name is None or times[name] > 1 else name for number, name in enumerate(names)]


def _name(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else None


def _words(text: str) -> str:
    """A value as it is read: a text without its quotation marks."""
    value = json.loads(text) if text else ""
    return value if isinstance(value, str) else text


def _written(place: Place) -> str:
    steps = (f".{step}" if kind == "member" else f"[{step}]" for kind, step in place)
    return "".join(steps).removeprefix(".")
