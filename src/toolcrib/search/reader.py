"""A query as the index understands it: spelled right, in terms and as vectors, whole and by clause."""

from __future__ import annotations

from collections import OrderedDict

from toolcrib.search.bm25 import Bm25
from toolcrib.search.clauses import clauses, want_tools_each
from toolcrib.search.encoder import Encoder
from toolcrib.search.evidence import Wish
from toolcrib.search.query import Query
from toolcrib.search.spelling import Spelling, longer_words, other_words
from toolcrib.search.terms import stem
from toolcrib.search.vectors import Floats

# Agents ask the same thing again, with another server or limit.
_KEPT_QUERIES = 64


class QueryReader:
    """Reads queries for the documents of one index."""

    def __init__(self, words: Bm25, encoder: Encoder) -> None:
        self._words = words
        self._encoder = encoder
        self._spelling: Spelling | None = None
        self._vectors: OrderedDict[tuple[str, ...], Floats] = OrderedDict()

    def forget(self) -> None:
        """The documents changed, and with them the words that are known."""
        self._spelling = None

    def read(self, text: str) -> list[Wish]:
        """The whole query first, then its clauses, if it has several."""
        spelled = self.corrected(text)
        several = clauses(spelled)
        parts = (spelled, *several)
        want_tools = [False, *[want_tools_each(several)] * len(several)]
        vectors = self._encoded(parts)
        return [
            Wish(Query.parse(part, self._words.__contains__), vector, wants_tool)
            for part, vector, wants_tool in zip(parts, vectors, want_tools, strict=True)
        ]

    def corrected(self, text: str) -> str:
        """The query with mistyped words put right."""
        if all(self._is_known(word) for word in longer_words(text)):
            return text
        if self._spelling is None:
            everyday = (*self._encoder.whole_words, *other_words())
            self._spelling = Spelling(everyday, self._words.__contains__, self._words.vocabulary())
        return self._spelling.corrected(text)

    def _is_known(self, word: str) -> bool:
        return self._encoder.has_word(word) or word in other_words() or stem(word) in self._words

    def _encoded(self, parts: tuple[str, ...]) -> Floats:
        known = self._vectors.get(parts)
        if known is None:
            known = self._vectors[parts] = self._encoder.encode_queries(parts)
            if len(self._vectors) > _KEPT_QUERIES:
                self._vectors.popitem(last=False)
        return known
