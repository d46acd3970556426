"""How much of a difference is the luck of which queries were asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
# Draws made at once, so that a large set does not fill the memory.
_CHUNK = 500


class Interval(NamedTuple):
    """A mean difference and where it lies in 95 of 100 draws."""

    difference: float
    low: float
    high: float


def paired(
    sets: Sequence[tuple[Sequence[float], Sequence[float]]], chance: np.random.Generator, draws: int = DRAWS
) -> Interval:
    """The mean over sets of ours less theirs, each set's queries drawn anew with their two figures together."""
    differences = [np.subtract(ours, theirs).astype(np.float64) for ours, theirs in sets]
    means = np.mean([_drawn_means(own, chance, draws) for own in differences], axis=0)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(np.mean([own.mean() for own in differences])), float(low), float(high))


def _drawn_means(values: NDArray[np.float64], chance: np.random.Generator, draws: int) -> NDArray[np.float64]:
    sizes = [min(_CHUNK, draws - done) for done in range(0, draws, _CHUNK)]
    return np.concatenate(
        [values[chance.integers(len(values), size=(size, len(values)))].mean(axis=1) for size in sizes]
    )
