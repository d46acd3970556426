"""Postings that were written to a file: found by a hash of the term, used where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.arrays_file import Array
from toolcrib.search.text_key import text_key

# Documents, ascending, and how strongly each holds the term.
Posting = tuple[NDArray[np.uint32], NDArray[np.floating]]


class StoredTerms:
    """Which documents hold a term, from arrays that may lie in a mapped file."""

    def __init__(self, arrays: Mapping[str, Array], documents: int) -> None:
        self.documents = documents
        self._keys = arrays["terms.keys"]
        self._ends = arrays["terms.ends"]
        self._holding = arrays["terms.documents"]
        self._strengths = arrays["terms.strengths"]
        self._words = arrays["terms.words"]

    @classmethod
    def empty(cls) -> StoredTerms:
        return cls(stored_arrays([]), 0)

    @cached_property
    def terms(self) -> Sequence[str]:
        """Every term; read only when something has to look through all of them."""
        text = self._words.tobytes().decode("utf-8", "surrogatepass")
        return text.split("\n") if text else []

    def posting(self, term: str) -> Posting | None:
        if not len(self._keys):
            return None
        key = np.uint64(text_key(term))
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return None
        span = slice(int(self._ends[place - 1]) if place else 0, int(self._ends[place]))
        return self._holding[span], self._strengths[span].astype(np.float32)


def stored_arrays(postings: Iterable[tuple[str, Posting]]) -> dict[str, Array]:
    """The arrays of a `StoredTerms`; terms without documents are left out."""
    kept = [(text_key(term), term, *posting) for term, posting in postings if len(posting[0])]
    kept.sort(key=lambda row: row[0])
    documents = [np.empty(0, dtype=np.uint32), *(row[2] for row in kept)]
    strengths = [np.empty(0, dtype=np.float16), *(row[3].astype(np.float16) for row in kept)]
    words = "\n".join(row[1] for row in kept).encode("utf-8", "surrogatepass")
    return {
        "terms.keys": np.array([row[0] for row in kept], dtype=np.uint64),
        "terms.ends": np.cumsum([len(row[2]) for row in kept], dtype=np.uint64).astype(np.uint32),
        "terms.documents": np.concatenate(documents).astype(np.uint32),
        "terms.strengths": np.concatenate(strengths),
        "terms.words": np.frombuffer(words, dtype=np.uint8),
    }
