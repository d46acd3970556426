"""A request of several intents: the best tool of each gets a place near the top."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.array_types import Floats

# The candidates that count, the best first, by the scores given.
InOrder = Callable[[Floats], Iterator[int]]

# Chosen on sealtools, stabletoolbench, bfcl and metatool: what it costs to fall behind the best of the clause that suits a
# tool most, and what it brings to be that best. Without them the intent with the most words takes all the first places.
_FALLING_BEHIND, _BEING_BEST = np.float32(0.35), np.float32(0.2)
# The best of each clause are among about so many more than there are clauses; with none more, clauses that only tell a
# story cost too much.
_OTHER_PLACES = 1
# Raised tools keep the order they had, as near to each other as scores can be.
_APART = np.float32(0.0001)


@dataclass(frozen=True, slots=True)
class Standing:
    """What each candidate is worth, the scores to rank by, and which are the best of a clause."""

    worth: Floats
    rank: Floats
    is_best: NDArray[np.bool_]


def standing(fused: Floats, by_clause: Floats, in_order: InOrder) -> Standing:
    """How candidates stand by their scores for the whole query and for each clause; as fused where there is no clause."""
    bests = [place for own in by_clause for place in islice(in_order(own), 1)]
    is_best = np.zeros(len(fused), dtype=np.bool_)
    if not bests:
        return Standing(fused, fused, is_best)
    is_best[bests] = True
    worth = _rounded(fused + _FALLING_BEHIND * _nearest(by_clause, bests) + _BEING_BEST * is_best)
    first = list(islice(in_order(worth), len(bests) + _OTHER_PLACES))
    return Standing(worth, _rounded(_raised(worth, is_best, worth[first[-1]])), is_best)


def _nearest(by_clause: Floats, bests: list[int]) -> Floats:
    """How far each candidate is behind the best of the clause where it is least behind; 0 or less."""
    highest = by_clause[np.arange(len(bests)), bests]
    behind: Floats = np.minimum(by_clause - highest[:, None], 0).max(axis=0)
    return behind


def _raised(worth: Floats, is_best: NDArray[np.bool_], least: np.float32) -> Floats:
    """Scores in which the best of each clause are above the least one, those that were below it only just."""
    low = np.flatnonzero(is_best & (worth < least))
    raised = worth.copy()
    raised[low] = least + _APART * (1 + np.searchsorted(np.sort(worth[low]), worth[low]))
    return raised


def _rounded(scores: Floats) -> Floats:
    """So that equals are equal however their sums were made up."""
    return np.round(scores, 4)
