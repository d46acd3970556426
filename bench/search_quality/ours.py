"""Our own search: as it ships, and its two halves alone."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from bench.search_quality.data import original_server
from bench.search_quality.ranker import Ranked
from bench.search_quality.vectors import VectorCache, VectorRanker
from tests.server.agent_tokens import compact
from toolcrib.model.tool import Tool, ToolMatch
from toolcrib.model.view import SearchAnswer, SearchHit
from toolcrib.queries.budget import pack_hits
from toolcrib.queries.json_forms import search_json
from toolcrib.search.bm25 import Bm25
from toolcrib.search.document import server_documents
from toolcrib.search.encoder import Encoder
from toolcrib.search.encoder_text import document_text
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import Query

# As many as the gateway looks at before it packs an answer.
LOOKED_AT = 10


class Shipped:
    """`ToolIndex`, as the gateway uses it."""

    def __init__(self, cache: VectorCache) -> None:
        self._cache = cache
        self.index = ToolIndex()
        self._numbers: dict[tuple[str, str], int] = {}

    def build(self, tools: Sequence[Tool]) -> None:
        """Index the tools; vectors come from the cache where they are known, and copies of a server share theirs."""
        self._numbers = {(tool.server, tool.name): number for number, tool in enumerate(tools)}
        self.index = ToolIndex()
        self.index.add_words(tools)
        encoder = self.index.encoder
        waiting = self.index.unencoded(len(tools))
        named = [self.index.tool(one.number) for one in waiting]
        texts = [document_text(replace(tool, server=original_server(tool.server))) for tool in named]
        self.index.put_vectors(waiting, self._cache.encode(f"toolcrib {encoder.identity}", texts, encoder.encode))

    def rank(self, query: str, limit: int = 10) -> list[Ranked]:
        return [
            Ranked(self._numbers[match.tool.server, match.tool.name], match.relevance)
            for match in self._found(query, limit)
        ]

    def packed(self, query: str) -> list[Ranked]:
        """The hits that the gateway keeps within its token budget."""
        return [Ranked(self._numbers[hit.server, hit.tool], hit.relevance) for hit in self._packed(query)]

    def answer(self, query: str) -> str:
        return compact(search_json(SearchAnswer(self._packed(query))))

    def _found(self, query: str, limit: int) -> list[ToolMatch]:
        return self.index.search(query, limit=limit)

    def _packed(self, query: str) -> tuple[SearchHit, ...]:
        return pack_hits([_hit(match.tool, match.relevance) for match in self._found(query, LOOKED_AT)])


class Words:
    """Our fielded BM25 alone."""

    def __init__(self, _cache: VectorCache) -> None:
        self._words = Bm25()
        self._numbers: dict[int, int] = {}

    def build(self, tools: Sequence[Tool]) -> None:
        self._words, self._numbers = Bm25(), {}
        by_server = sorted(range(len(tools)), key=lambda number: tools[number].server)
        for _, group in groupby(by_server, key=lambda number: tools[number].server):
            numbers = list(group)
            block = self._words.add(server_documents([tools[number] for number in numbers], [()] * len(numbers)))
            self._numbers.update(zip(block.numbers, numbers, strict=True))

    def rank(self, query: str, limit: int = 10) -> list[Ranked]:
        parsed = Query.parse(query, self._words.__contains__)
        scores = self._words.scores(parsed.all)
        found = np.flatnonzero(scores)
        top = heapq.nsmallest(limit, ((-float(scores[place]), self._numbers[int(place)]) for place in found))
        return [Ranked(number, -score) for score, number in top]

    def answer(self, _query: str) -> str:
        return ""


def meaning(cache: VectorCache) -> VectorRanker:
    """Our encoder alone."""
    encoder = Encoder.load()
    return VectorRanker(f"toolcrib {encoder.identity}", encoder.encode, cache, ask=encoder.encode_queries)


def _hit(tool: Tool, relevance: float) -> SearchHit:
    return SearchHit(tool.server, tool.name, tool.summary, relevance)
