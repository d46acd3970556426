"""What every measured search is behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toolcrib.model.tool import Tool


class Ranked(NamedTuple):
    """A tool by its number among those the ranker was built from, and how well it fits (NaN: not told)."""

    number: int
    score: float


class Ranker(Protocol):
    """Built, then asked; building again starts anew. `answer` is the text an agent would get to read, empty where that is not defined."""

    def build(self, tools: Sequence[Tool]) -> None: ...

    def rank(self, query: str, limit: int = 10) -> list[Ranked]: ...

    def answer(self, query: str) -> str: ...


def best(scores: NDArray[np.float32], limit: int, *, above: float = 0.0) -> list[Ranked]:
    """The highest scores, equal ones in the order of their numbers."""
    limit = min(limit, len(scores))
    if not limit:
        return []
    # Everything that ties with the last place is kept until the sort decides.
    least = max(float(np.partition(scores, -limit)[-limit]), above)
    candidates = np.flatnonzero((scores >= least) & (scores > above))
    order = candidates[np.argsort(-scores[candidates], kind="stable")][:limit]
    return [Ranked(int(number), float(scores[number])) for number in order]
