"""Rankers that compare vectors, and the cache that spares encoding the same tools twice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.search_quality.data import original_server
from bench.search_quality.ranker import Ranked, best
from toolcrib.model.tool import Tool
from toolcrib.search.encoder_text import document_text

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]


class VectorCache:
    """Vectors of texts in a folder, by the identity of the encoder and the texts; without a folder it keeps nothing.

    `spared_seconds` is what the encoding took that did not have to be done again.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.spared_seconds = 0.0

    def encode(self, identity: str, texts: Sequence[str], encode: Encode) -> Vectors:
        """One vector for each text; equal texts are encoded once."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        return self._unique(identity, list(places), encode)[[places[text] for text in texts]]

    def _unique(self, identity: str, texts: Sequence[str], encode: Encode) -> Vectors:
        stem = None if self.folder is None else self.folder / _key(identity, texts)
        if stem is not None and stem.with_suffix(".json").is_file():
            self.spared_seconds += json.loads(stem.with_suffix(".json").read_text("utf-8"))["seconds"]
            return np.asarray(np.load(stem.with_suffix(".npy")), np.float32)
        start = time.perf_counter()
        vectors = encode(texts)
        if stem is not None:
            stem.parent.mkdir(parents=True, exist_ok=True)
            np.save(stem.with_suffix(".npy"), vectors)
            note = {"encoder": identity, "texts": len(texts), "seconds": time.perf_counter() - start}
            stem.with_suffix(".json").write_text(json.dumps(note), encoding="utf-8")
        return vectors


class VectorRanker:
    """Ranks by cosine; what it reads of a tool is what our own encoder reads."""

    def __init__(self, identity: str, encode: Encode, cache: VectorCache, *, ask: Encode | None = None) -> None:
        self._identity = identity
        self._encode = encode
        self._ask = ask or encode
        self._cache = cache
        self._vectors: Vectors = np.empty((0, 0), np.float32)

    def build(self, tools: Sequence[Tool]) -> None:
        texts = [document_text(replace(tool, server=original_server(tool.server))) for tool in tools]
        self._vectors = self._cache.encode(self._identity, texts, self._encode)

    def rank(self, query: str, limit: int = 10) -> list[Ranked]:
        return best(self._vectors @ self._ask([query])[0], limit, above=-1.0)

    def answer(self, _query: str) -> str:
        return ""


def _key(identity: str, texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join([identity, *texts]).encode("utf-8", "surrogatepass")).hexdigest()[:32]
