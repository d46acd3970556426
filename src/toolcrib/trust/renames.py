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

    inputs: Any
    words: Sequence[str]
    times: Counter[str]


def renamed(now: Iterable[tuple[PinKey, Mapping[str, Any]]], gone: Iterable[Pin]) -> Iterator[tuple[PinKey, Pin]]:
    """What each new definition was before, as far as its inputs and words tell; those that are really new have nothing.

    Of two that are as much alike, the first of `gone` counts.
    """
    before: dict[PinnedKind, list[tuple[Pin, _Told]]] = {}
    for pin in gone:
        if len(of_kind := before.setdefault(pin.kind, [])) < MOST_COMPARED:
            of_kind.append((pin, _told(_read(pin.definition))))
    for key, definition in list(now)[:MOST_COMPARED]:
        if former := _most_alike(_told(definition), before.get(key[0], ())):
            yield key, former


def _most_alike(one: _Told, others: Iterable[tuple[Pin, _Told]]) -> Pin | None:
    likeness = [(_likeness(other, one), pin) for pin, other in others]
    most, best = max(likeness, key=lambda found: found[0], default=(0.0, None))
    return best if most >= LEAST_LIKENESS else None


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


def _told(definition: Mapping[str, Any]) -> _Told:
    words = str(definition.get("description") or "").split()
    return _Told(_inputs(definition), words, Counter(words))


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
