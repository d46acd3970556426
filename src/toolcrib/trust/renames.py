"""Finding out which definition that is gone came back under another name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.model.pin import Pin, PinKey, PinnedKind

LEAST_LIKENESS = 0.85
# More than these, gone or new, are not compared: a server that changes so much is looked at as a whole.
MOST_COMPARED = 50
# Longer descriptions have to be the same. Each is compared with many others, and servers choose how long they are.
MOST_WORDS = 1_000


@dataclass(frozen=True, slots=True)
class _Told:
    """What a definition is compared by."""

    name: str
    inputs: Any
    words: Sequence[str]
    times: Counter[str]


def renamed(
    now: Iterable[tuple[PinKey, Mapping[str, Any]]], gone: Mapping[PinKey, Pin]
) -> Iterator[tuple[PinKey, str]]:
    """The name that each new definition had before, as far as its inputs and words tell; those that are really new have none."""
    before: dict[PinnedKind, list[_Told]] = {}
    for pin in gone.values():
        if len(of_kind := before.setdefault(pin.kind, [])) < MOST_COMPARED:
            of_kind.append(_told(pin.name, _read(pin.definition)))
    for key, definition in list(now)[:MOST_COMPARED]:
        if name := _most_alike(_told(key[1], definition), before.get(key[0], ())):
            yield key, name


def _most_alike(one: _Told, others: Iterable[_Told]) -> str:
    likeness = {other.name: _likeness(other, one) for other in others}
    best = max(likeness, key=lambda name: likeness[name], default="")
    return best if best and likeness[best] >= LEAST_LIKENESS else ""


def _likeness(before: _Told, now: _Told) -> float:
    """How many words of both are in the other, wherever: the time this takes grows with their number and no faster."""
    if before.inputs != now.inputs:
        return 0.0
    if not (before.words and now.words):
        return 0.0  # Two that say nothing of themselves have nothing in common by that.
    if before.words == now.words:
        return 1.0
    total = len(before.words) + len(now.words)
    most = 2 * min(len(before.words), len(now.words)) / total
    if most < LEAST_LIKENESS or max(len(before.words), len(now.words)) > MOST_WORDS:
        return 0.0
    return 2 * sum(min(times, now.times[word]) for word, times in before.times.items()) / total


def _told(name: str, definition: Mapping[str, Any]) -> _Told:
    words = str(definition.get("description") or "").split()
    return _Told(name, _inputs(definition), words, Counter(words))


def _inputs(definition: Mapping[str, Any]) -> Any:
    schema = definition.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else definition.get("arguments")
    return sorted(properties) if isinstance(properties, Mapping) else properties


def _read(text: str) -> Mapping[str, Any]:
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
