"""Names close to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from heapq import nlargest

from toolcrib.search.terms import squash

_MAX_CHARACTERS = 100
# Comparing letter by letter is slow, so only the names that share most letter pairs are compared so.
_COMPARED = 40
# Two letters of a short name swapped are 0.67; names that only share some letters stay below.
_ALIKE_ENOUGH = 0.65
_SHORTEST_PART = 3
# A part of so many letters tells what is meant, however long the whole; a shorter one only where it is much of it.
_TELLING_PART = 5


def nearest(name: str, candidates: Iterable[str], limit: int = 5) -> list[str]:
    """Up to `limit` candidates that `name` may have meant, most alike first; none when nothing is alike."""
    wanted = _plain(name)
    if not wanted or limit <= 0:
        return []
    shapes = {candidate: _plain(candidate) for candidate in candidates}
    pairs = _letter_pairs(wanted)
    overlaps = {candidate: _overlap(pairs, _letter_pairs(shape)) for candidate, shape in shapes.items()}
    hopeful = set(nlargest(_COMPARED, shapes, key=lambda one: (overlaps[one], one)))
    hopeful.update(nlargest(_COMPARED, shapes, key=lambda one: (_containment(wanted, shapes[one]), one)))
    likeness = {one: max(overlaps[one], _likeness(wanted, shapes[one])) for one in hopeful}
    alike = [one for one in hopeful if likeness[one] >= _ALIKE_ENOUGH]
    return sorted(alike, key=lambda one: (one != name, -likeness[one], len(one), one))[:limit]


def _plain(name: str) -> str:
    cut = name[:_MAX_CHARACTERS]
    return squash(cut) or cut.strip()


def _letter_pairs(shape: str) -> frozenset[str]:
    framed = f"\0{shape}\0"
    return frozenset(framed[start : start + 2] for start in range(len(framed) - 1))


def _overlap(pairs: frozenset[str], others: frozenset[str]) -> float:
    return 2 * len(pairs & others) / (len(pairs) + len(others))


def _likeness(wanted: str, shape: str) -> float:
    return max(_containment(wanted, shape), SequenceMatcher(None, wanted, shape, autojunk=False).ratio())


def _containment(wanted: str, shape: str) -> float:
    """1 for equal names, at least 0.5 where one is a part of the other, else 0."""
    shorter, longer = sorted((wanted, shape), key=len)
    if shorter == longer:
        return 1.0
    if len(shorter) < _SHORTEST_PART or shorter not in longer:
        return 0.0
    least = _ALIKE_ENOUGH if len(shorter) >= _TELLING_PART else 0.5
    return least + (1 - least) * len(shorter) / len(longer)
