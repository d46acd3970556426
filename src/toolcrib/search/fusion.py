"""Words and meaning weighed into one score, and the score put as a chance to be right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.evidence import Evidence

Floats = NDArray[np.float32]

# Fitted by training/fusion.py on the development queries: one row a feature of `Evidence`; the second column is added
# in proportion to how much of the query the best tool's words match at all (`reach`).
_WEIGHTS = np.array(
    [
        (5.13, 0.0),  # share
        (1.50, 0.0),  # of_best
        (0.19, 0.0),  # clause_share
        (6.42, 0.0),  # closeness
        (7.15, 0.0),  # clause_closeness
    ],
    dtype=np.float32,
)
# The chance that a hit is right: a logistic curve over its score, its lead over the other candidates, and the reach.
_CHANCE_BASE, _CHANCE_SCORE, _CHANCE_LEAD, _CHANCE_REACH = -6.0, 0.6, 0.5, 0.0
# Only what was named in full is certain.
_MOST_RELEVANT = 0.99


def scores(evidence: Evidence) -> Floats:
    """One number a candidate: the higher, the likelier it is meant."""
    return _features(evidence) @ (_WEIGHTS[:, 0] + _WEIGHTS[:, 1] * np.float32(evidence.reach))


def relevance(evidence: Evidence, fused: Floats) -> Floats:
    """The chance of each candidate to be right, never rising with a falling score."""
    lead = fused - _log_sum(fused)
    logit = _CHANCE_BASE + _CHANCE_SCORE * fused + _CHANCE_LEAD * lead + _CHANCE_REACH * evidence.reach
    return np.minimum(1 / (1 + np.exp(-logit)), np.float32(_MOST_RELEVANT))


def _features(evidence: Evidence) -> Floats:
    columns = (
        evidence.share,
        evidence.of_best,
        evidence.clause_share,
        evidence.closeness,
        evidence.clause_closeness,
    )
    return np.stack(columns, axis=1)


def _log_sum(values: Floats) -> np.float32:
    largest = values.max(initial=0.0)
    return np.float32(largest + np.log(np.exp(values - largest).sum() + 1e-9))
