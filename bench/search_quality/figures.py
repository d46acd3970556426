"""How good a ranking is; qualities are 0..1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import fmean

DEPTH = 10


def ndcg(right: Sequence[bool], total: int, depth: int = DEPTH) -> float:
    """Normalised discounted gain of a ranking, where `total` tools are right."""
    gained = sum(1 / math.log2(place + 2) for place, is_right in enumerate(right[:depth]) if is_right)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(depth, total)))


def recall(right: Sequence[bool], total: int, depth: int) -> float:
    """The share of the right tools among the first so many."""
    return sum(right[:depth]) / total


def hit(right: Sequence[bool]) -> float:
    """1 where the first tool is right."""
    return float(any(right[:1]))


def reciprocal_rank(right: Sequence[bool]) -> float:
    """1 over the place of the first right tool, 0 where there is none."""
    return next((1 / place for place, is_right in enumerate(right, 1) if is_right), 0.0)


def auroc(present: Sequence[float], absent: Sequence[float]) -> float:
    """The chance that one of `present` is above one of `absent`; a tie counts half."""
    ordered = sorted([(value, True) for value in present] + [(value, False) for value in absent])
    wins, below = 0.0, 0
    for _, equals in groupby(ordered, key=itemgetter(0)):
        kinds = [is_present for _, is_present in equals]
        absent_here = kinds.count(False)
        wins += kinds.count(True) * (below + absent_here / 2)
        below += absent_here
    return wins / (len(present) * len(absent))


@dataclass(frozen=True)
class Bin:
    """Hits of about the same relevance, and how many of them were right."""

    count: int
    relevance: float
    right: float


def reliability(judged: Sequence[tuple[float, bool]], bins: int = 10) -> list[Bin | None]:
    """Equal steps of relevance from 0 to 1, none where no hit fell."""
    inside: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for relevance, is_right in judged:
        inside[min(int(relevance * bins), bins - 1)].append((relevance, is_right))
    return [_bin(own) if own else None for own in inside]


def calibration_error(found: Sequence[Bin | None]) -> float:
    """How far relevance is from the truth on average, every hit counting the same."""
    full = [one for one in found if one is not None]
    return sum(one.count * abs(one.relevance - one.right) for one in full) / sum(one.count for one in full)


def _bin(judged: Sequence[tuple[float, bool]]) -> Bin:
    return Bin(len(judged), fmean(relevance for relevance, _ in judged), fmean(right for _, right in judged))
