"""Words and meaning weighed into one score, and the score put as a chance to be right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.array_types import Floats
from toolcrib.search.evidence import Evidence

# Fitted by training/fusion.py on the development queries, in the order of `features`.
WEIGHTS = np.array([2.02, 0.54, 5.06, 8.81, 1.3, 0.55], dtype=np.float32)
# Likewise, for the chance that a candidate is right, in the order of `signs`.
CHANCE = np.array([-5.22, 7.35, 0.55, 5.43], dtype=np.float32)
# A tool below the best is likelier right if it is the best for another intent; this much fits all labelled sets.
_BEST_OF_CLAUSE = np.float32(1.2)
# Only what was named in full is certain.
_MOST_RELEVANT = np.float32(0.99)
# Letters without a meaning lie close to some tool by accident, the closer the more tools there are. Not fitted: no
# development query is like that.
_MOST_RELEVANT_TO_BABBLE = np.float32(0.05)
_CLAUSE_CLOSENESS = 3
# To be clearly first says something, by how much says little: queries whose tool is not there have such hits too.
_FARTHEST_AHEAD = 0.3


def features(evidence: Evidence) -> Floats:
    """One row a candidate."""
    columns = (
        evidence.share,
        evidence.of_best,
        evidence.closeness,
        evidence.clause_closeness,
        evidence.clause_share,
        evidence.clause_of_best,
    )
    return np.stack(columns, axis=1)


def scores(rows: Floats) -> Floats:
    """One number a candidate: the higher, the likelier it is meant."""
    return _weighed(rows, WEIGHTS)


def clause_scores(evidence: Evidence) -> Floats:
    """The score each clause would give each candidate if it were the whole query; a row a clause."""
    share, of_best, closeness, clause_closeness, clause_share, clause_of_best = WEIGHTS
    alone = np.array([share + clause_share, of_best + clause_of_best, closeness + clause_closeness], dtype=np.float32)
    sums: Floats = (evidence.by_clause * alone[:, None]).sum(axis=1)
    return sums


def chances(rows: Floats, fused: Floats, is_best_of_clause: NDArray[np.bool_], *, is_understood: bool = True) -> Floats:
    """The chance of each candidate to be right, given what else there is and whether the query was understood at all."""
    is_below = fused < fused.max(initial=-np.inf)
    logits = _weighed(signs(rows, fused), CHANCE) + _BEST_OF_CLAUSE * (is_best_of_clause & is_below)
    right: Floats = np.minimum(1 / (1 + np.exp(-logits)), _MOST_RELEVANT if is_understood else _MOST_RELEVANT_TO_BABBLE)
    return right


def signs(rows: Floats, fused: Floats) -> Floats:
    """What tells whether a candidate is right at all: how close its meaning is, and how it stands to the best.

    Those below the best by how far, the best by how far it is ahead, a lone one as the best far ahead.
    """
    below = fused - fused.max(initial=-np.inf)
    ahead = np.zeros_like(fused)
    if len(fused):
        best = int(np.argmax(fused))
        second = np.delete(below, best).max(initial=-np.inf)
        ahead[best] = min(-second, _FARTHEST_AHEAD)
    return np.stack([np.ones_like(fused), rows[:, _CLAUSE_CLOSENESS], below, ahead], axis=1)


def _weighed(rows: Floats, weights: Floats) -> Floats:
    """The weighed sum of each row; equal rows have equal sums, which a matrix product does not promise."""
    sums: Floats = (rows * weights).sum(axis=1)
    return sums
