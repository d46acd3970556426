"""Words and meaning weighed into one score, and the score put as a chance to be right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.evidence import Evidence

Floats = NDArray[np.float32]

# Fitted by training/fusion.py: share, of_best, closeness, clause_closeness.
WEIGHTS = np.array([5.67, 1.43, 6.97, 8.21], dtype=np.float32)
# Likewise, for the chance that a candidate is right: 1, its score, and its lead over all the others.
CHANCE = np.array([-6.0, 0.6, 0.5], dtype=np.float32)
# Only what was named in full is certain.
_MOST_RELEVANT = np.float32(0.99)


def features(evidence: Evidence) -> Floats:
    """One row a candidate, in the order of the weights."""
    columns = (evidence.share, evidence.of_best, evidence.closeness, evidence.clause_closeness)
    return np.stack(columns, axis=1)


def scores(evidence: Evidence) -> Floats:
    """One number a candidate: the higher, the likelier it is meant."""
    fused: Floats = features(evidence) @ WEIGHTS
    return fused


def chances(fused: Floats) -> Floats:
    """The chance of each candidate to be right; it falls with the score."""
    logits: Floats = signs_of_right(fused) @ CHANCE
    return np.minimum(1 / (1 + np.exp(-logits)), _MOST_RELEVANT)


def signs_of_right(fused: Floats) -> Floats:
    """What tells whether a candidate is right at all: how well it fits, and how far it is ahead of the rest."""
    largest = fused.max(initial=0.0)
    all_together = largest + np.log(np.exp(fused - largest).sum() + np.float32(1e-9))
    return np.stack([np.ones_like(fused), fused, fused - all_together], axis=1)
