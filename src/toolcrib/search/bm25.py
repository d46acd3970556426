"""Fielded BM25 over blocks of documents that come and go together."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.array_types import Floats
from toolcrib.search.document import Document
from toolcrib.search.stored_terms import Posting, StoredTerms

# The optimum is flat: on the training queries 1.0 to 1.8 differ by a third of a point.
_SATURATION = 1.4
# More repeats within one field add nothing but length, so stuffing it with a keyword costs more than it gains.
_MOST_REPEATS = 2
# Strengths are multiples of this part: they fit 16 bits exactly, so a stored index scores as a fresh one does.
_STEPS = 2048


@dataclass(frozen=True, slots=True)
class Block:
    """Documents of one server: neighbouring numbers, so that they leave every posting as one slice."""

    start: int
    stop: int
    terms: tuple[str, ...] = ()

    @property
    def numbers(self) -> range:
        return range(self.start, self.stop)


@dataclass(slots=True)
class _Growing:
    """The documents that hold one term, ascending, and how strongly each does (0..1)."""

    documents: array[int] = field(default_factory=lambda: array("I"))
    strengths: array[float] = field(default_factory=lambda: array("f"))

    def remove(self, block: Block) -> None:
        gone = slice(bisect_left(self.documents, block.start), bisect_left(self.documents, block.stop))
        del self.documents[gone], self.strengths[gone]

    def posting(self) -> Posting:
        # Views of the arrays: they must not outlive the next change.
        return (
            np.frombuffer(self.documents, dtype=np.uint32),
            np.frombuffer(self.strengths, dtype=np.float32),
        )


class Bm25:
    """Ranks documents by the words they share with a query.

    Documents are numbered as they come and no number is used twice; those of `stored` come first. What is kept of a
    document never depends on the others, so a block costs the same to add or remove however large the rest is.

    Documents may be put `aside`: they are found only where they are asked for, and what they hold makes no word less telling
    for the others.
    """

    def __init__(self, stored: StoredTerms | None = None) -> None:
        self._stored = stored or StoredTerms.empty()
        self._growing: dict[str, _Growing] = {}
        # Documents of the stored part that were removed stay in its postings: they are left out by this.
        self._is_gone: NDArray[np.bool_] | None = None
        self._next = self._live = self._stored.documents
        self._is_aside = np.zeros(self._next, dtype=np.bool_)
        self._aside = 0

    def __contains__(self, term: str) -> bool:
        return term in self._growing or self._holders(term) > 0

    @property
    def size(self) -> int:
        """One more than the highest number given."""
        return self._next

    @property
    def aside(self) -> int:
        """How many documents are aside."""
        return self._aside

    def set_aside(self, block: Block) -> None:
        """Put a block aside that is here."""
        if len(self._is_aside) < self._next:
            room = np.zeros(2 * self._next, dtype=np.bool_)
            room[: len(self._is_aside)] = self._is_aside
            self._is_aside = room
        self._is_aside[block.start : block.stop] = True
        self._aside += len(block.numbers)

    def is_aside(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        known = numbers < len(self._is_aside)
        return np.where(known, self._is_aside[np.where(known, numbers, 0)], False) if len(self._is_aside) else known

    def add(self, documents: Iterable[Document]) -> Block:
        """Index a block of documents under the next numbers."""
        start, seen = self._next, set[str]()
        for document in documents:
            for term, strength in _strengths(document).items():
                posting = self._growing.get(term) or self._growing.setdefault(term, _Growing())
                posting.documents.append(self._next)
                posting.strengths.append(strength)
                seen.add(term)
            self._next += 1
        self._live += self._next - start
        return Block(start, self._next, tuple(seen))

    def remove(self, block: Block) -> None:
        """Forget a block that `add` returned, or one of the stored part."""
        self._live -= len(block.numbers)
        if self._aside and self._is_aside[block.start : block.start + 1].any():
            self._aside -= len(block.numbers)
        if block.start < self._stored.documents:
            if self._is_gone is None:
                self._is_gone = np.zeros(self._stored.documents, dtype=np.bool_)
            self._is_gone[block.start : block.stop] = True
        for term in block.terms:
            posting = self._growing[term]
            posting.remove(block)
            if not posting.documents:
                del self._growing[term]

    def scores(self, weights: Mapping[str, float], *, aside: bool = False) -> Floats:
        """The score of every number; 0 for documents that hold none of the terms, and for those that are gone.

        Only of documents that are `aside`, or only of the others.
        """
        scores = np.zeros(self._next, dtype=np.float32)
        for term, weight in weights.items():
            worth = np.float32(weight * self.rarity(term))
            for documents, strengths in self._postings(term):
                scores[documents] += worth * strengths
        if self._is_gone is not None:
            scores[: len(self._is_gone)][self._is_gone] = 0
        if self._aside or aside:
            scores[self.is_aside(np.arange(self._next)) != aside] = 0
        return scores

    def ideal(self, weights: Mapping[str, float]) -> float:
        """What a document would score that held every term as strongly as can be; unknown terms count as the rarest."""
        return sum(weight * self.rarity(term) for term, weight in weights.items())

    def rarity(self, term: str) -> float:
        """How much a term tells: the fewer documents hold it, the more."""
        holders = self._holders(term)
        return math.log(1 + (self._live - self._aside - holders + 0.5) / (holders + 0.5))

    def vocabulary(self) -> Iterable[str]:
        """Every term that a document holds or, before it was removed, held."""
        yield from self._growing
        yield from (term for term in self._stored.terms if term not in self._growing)

    def snapshot(self) -> Callable[[], Iterator[tuple[str, Posting]]]:
        """All postings as they are now, to be gone through later and in any thread."""
        grown = {term: (np.array(own.documents), np.array(own.strengths)) for term, own in self._growing.items()}
        stored = self._stored
        return lambda: chain(
            grown.items(), ((term, posting) for term in stored.terms if (posting := stored.posting(term)))
        )

    def _postings(self, term: str) -> Iterable[Posting]:
        stored = self._stored.posting(term)
        if stored is not None:
            yield stored
        growing = self._growing.get(term)
        if growing is not None:
            yield growing.posting()

    def _holders(self, term: str) -> int:
        """How many documents hold a term, of those that are not aside."""
        if self._aside:
            return sum(int(np.count_nonzero(~self._left_out(own))) for own, _ in self._postings(term))
        growing, stored = self._growing.get(term), self._stored.posting(term)
        count = len(growing.documents) if growing is not None else 0
        if stored is None:
            return count
        gone = 0 if self._is_gone is None else int(np.count_nonzero(self._is_gone[stored[0]]))
        return count + len(stored[0]) - gone

    def _left_out(self, documents: NDArray[np.uint32]) -> NDArray[np.bool_]:
        left_out = self.is_aside(documents.astype(np.int64))
        if self._is_gone is not None:
            old = documents < len(self._is_gone)
            left_out = left_out | (old & self._is_gone[np.where(old, documents, 0)])
        return left_out


def _strengths(document: Document) -> dict[str, float]:
    """Each term's strength: its counts, weighed by field and field length, then saturated once for all fields."""
    weighed: defaultdict[str, float] = defaultdict(float)
    for kind, words in document:
        dilution = 1 - kind.length_effect + kind.length_effect * len(words) / kind.usual_length
        for term, count in Counter(words).items():
            weighed[term] += kind.weight * min(count, _MOST_REPEATS) / dilution
    return {term: round(_STEPS * weight / (weight + _SATURATION)) / _STEPS for term, weight in weighed.items()}
