"""A large teacher seen by a small student: its vectors turned and cut to the student's size."""

from __future__ import annotations

import numpy as np
import torch

from training.model import Array, TextEncoder, encode_all
from training.teacher import Tables

SAMPLE = 40_000


@torch.no_grad()
def outlook(teacher: TextEncoder, student: TextEncoder, tables: Tables) -> Array:
    """A matrix from the teacher's space to the student's.

    It keeps the directions in which the teacher's vectors differ most, then turns them to where the untaught student
    already puts the same texts, so that the student has least to move.
    """
    taught, known = _vectors(teacher, tables), _vectors(student, tables)
    _, directions = torch.linalg.eigh(taught.T @ taught)
    kept = directions[:, -student.dimensions :]
    left, _, right = torch.linalg.svd((taught @ kept).T @ known)
    return (kept @ left @ right).T.float().cpu().numpy().copy()


def _vectors(model: TextEncoder, tables: Tables) -> torch.Tensor:
    """Every whole tool and a sample of the queries, each time the same."""
    rows = np.random.default_rng(1).choice(len(tables.queries), size=min(SAMPLE, len(tables.queries)), replace=False)
    tools = encode_all(model, tables.documents, np.arange(tables.bundle.tools))
    return torch.cat([tools, encode_all(model, tables.queries, rows)]).double()
