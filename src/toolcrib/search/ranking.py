"""Candidates put in order, each with its chance to be right."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from toolcrib.search import fusion
from toolcrib.search.array_types import Floats
from toolcrib.search.evidence import Evidence
from toolcrib.search.multi_intent import InOrder, standing

# Beside a tool that was named in full others are hardly meant.
_BESIDE_NAMED = np.float32(0.3)
# More than all words and meaning together are worth: what was named inside a longer request comes first.
_MENTIONED = np.float32(20)


@dataclass(frozen=True)
class Ranking:
    """What is known of a query besides the evidence.

    `in_order` gives the candidates that count, the best first; those `named` in full are ranked elsewhere; those
    `mentioned` come first, each with the least chance that it has.
    """

    in_order: InOrder
    named: Collection[int]
    mentioned: Mapping[int, float]
    is_understood: bool

    def best(self, evidence: Evidence, most: int) -> list[tuple[int, float]]:
        """Numbers of tools and their chances, the best first."""
        rows, numbers = fusion.features(evidence), evidence.numbers.tolist()
        # Rounded, so that equals are equal however their sums were made up.
        fused, by_clause = np.round(fusion.scores(rows), 4), np.round(fusion.clause_scores(evidence), 4)
        stand = standing(fused, by_clause, self.in_order)
        rank = stand.rank + _MENTIONED * np.array([number in self.mentioned for number in numbers], dtype=np.float32)
        others = (place for place in self.in_order(rank) if numbers[place] not in self.named)
        seen = list(islice(others, most))
        chances = fusion.chances(rows[seen], stand.worth[seen], stand.is_best[seen], is_understood=self.is_understood)
        chances *= _BESIDE_NAMED if self.named else 1
        chances = np.maximum(chances, [self.mentioned.get(numbers[place], 0.0) for place in seen])
        return list(zip((numbers[place] for place in seen), _falling(chances, rank[seen]), strict=True))


def _falling(chances: Floats, rank: Floats) -> list[float]:
    """Chances of hits in their order: none more likely than one above it, equals as likely as the least of them."""
    lowest: list[float] = np.minimum.accumulate(chances).tolist()
    for place in range(len(lowest) - 2, -1, -1):
        if rank[place] == rank[place + 1]:
            lowest[place] = lowest[place + 1]
    return lowest
