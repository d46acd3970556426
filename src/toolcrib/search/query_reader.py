"""A query as the index understands it: spelled right, in terms and as vectors, whole and by clause."""

from __future__ import annotations

from collections import OrderedDict

from toolcrib.search.array_types import Floats
from toolcrib.search.bm25 import Bm25
from toolcrib.search.clauses import clauses, want_tools_each
from toolcrib.search.encoder import Encoder
from toolcrib.search.evidence import Intent
from toolcrib.search.known_words import is_derived, is_foreign
from toolcrib.search.query import Query
from toolcrib.search.spelling import Spelling, longer_words, may_be_mistyped, other_words
from toolcrib.search.terms import stem, telling_words

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

    def read(self, text: str) -> list[Intent]:
        """The whole query first, then its clauses, if it has several."""
        spelled = self.corrected(text)
        several = clauses(spelled)
        parts = (spelled, *several)
        vectors = self._encoded(parts)
        is_understood, want_tools = self._understands(spelled), want_tools_each(several)
        return [
            Intent(Query.parse(part, self._words.__contains__), vector, is_understood, want_tools and place > 0)
            for place, (part, vector) in enumerate(zip(parts, vectors, strict=True))
        ]

    def corrected(self, text: str) -> str:
        """The query with mistyped words put right."""
        if all(self._is_known(word) for word in longer_words(text)) or is_foreign(text):
            return text
        if self._spelling is None:
            everyday = (*self._encoder.whole_words, *other_words())
            self._spelling = Spelling(everyday, self._words.__contains__, self._words.vocabulary(), self._is_derived)
        return self._spelling.corrected(text)

    def is_everyday(self, word: str) -> bool:
        """Whether people use the word, whatever the tools are called."""
        return self._encoder.has_word(word) or word in other_words()

    def _is_derived(self, word: str) -> bool:
        return is_derived(word, self.is_everyday)

    def _understands(self, text: str) -> bool:
        """Whether some word is known; another script, short words and what has digits are given the benefit of the doubt."""
        is_some_known = any(not _can_be_judged(word) or self._is_known(word) for word in telling_words(text))
        return is_some_known or not text.isascii() or not any(telling_words(text))

    def _is_known(self, word: str) -> bool:
        return self.is_everyday(word) or stem(word) in self._words or self._is_derived(word)

    def _encoded(self, parts: tuple[str, ...]) -> Floats:
        known = self._vectors.get(parts)
        if known is None:
            known = self._vectors[parts] = self._encoder.encode_queries(parts)
            if len(self._vectors) > _KEPT_QUERIES:
                self._vectors.popitem(last=False)
        return known


def _can_be_judged(word: str) -> bool:
    return word.isalpha() and may_be_mistyped(word)
