"""What teacher and student are asked to get right."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

SCALE = 20.0
REVERSE_WEIGHT = 0.3


def not_to_blame(answers: Tensor, column_tools: Tensor, likeness: Tensor, threshold: float) -> Tensor:
    """Which columns are no fair negatives of a row: other right answers, and tools all but equal to its own.

    `likeness` is the cosine of each row's own document to each column's.
    """
    is_answer = (answers[:, :, None] == column_tools[None, None, :]).any(1)
    masked = is_answer | (likeness > threshold)
    masked.fill_diagonal_(False)
    return masked


def contrast(queries: Tensor, documents: Tensor, masked: Tensor) -> Tensor:
    """InfoNCE: each query finds its own document among all columns, and its document finds it back."""
    scores = SCALE * queries.float() @ documents.float().T
    own = torch.arange(len(queries), device=queries.device)
    forward = functional.cross_entropy(scores.masked_fill(masked, float("-inf")), own)
    square, square_mask = scores[:, : len(queries)], masked[:, : len(queries)]
    backward = functional.cross_entropy(square.masked_fill(square_mask, float("-inf")).T, own)
    return forward + REVERSE_WEIGHT * backward


def same_ranking(queries: Tensor, documents: Tensor, taught_queries: Tensor, taught_documents: Tensor) -> Tensor:
    """How far the student's order of all columns is from the teacher's (KL divergence)."""
    scores = functional.log_softmax(SCALE * queries.float() @ documents.float().T, dim=-1)
    taught = functional.log_softmax(SCALE * taught_queries.float() @ taught_documents.float().T, dim=-1)
    return functional.kl_div(scores, taught, reduction="batchmean", log_target=True)


def apart(vectors: Tensor, taught: Tensor) -> Tensor:
    """One minus the mean cosine to the teacher's vectors."""
    return 1 - (vectors.float() * taught.float()).sum(-1).mean()
