"""Our own search: as it ships, and its two halves alone."""

from __future__ import annotations

import hashlib
import heapq
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import toolcrib.search
from bench.search_quality.ranker import Ranked
from bench.search_quality.vectors import VectorCache, VectorRanker
from tests.server.agent_tokens import compact
from toolcrib.answers import pack_hits
from toolcrib.model.tool import Tool, ToolMatch
from toolcrib.model.view import SearchAnswer, SearchHit
from toolcrib.search.bm25 import Bm25
from toolcrib.search.document import server_documents
from toolcrib.search.encoder import Encoder
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import Query
from toolcrib.server import render

# As many as the gateway looks at before it packs an answer.
LOOKED_AT = 10


class Shipped:
    """`ToolIndex`, as the gateway uses it."""

    def __init__(self, cache: VectorCache) -> None:
        self._cache = cache
        self.index = ToolIndex()
        self._numbers: dict[tuple[str, str], int] = {}

    def build(self, tools: Sequence[Tool]) -> None:
        """Index the tools, or load the index of the same tools and the same code from the cache."""
        self._numbers = {(tool.server, tool.name): number for number, tool in enumerate(tools)}
        self.index = stored_index(tools, self._cache) if can_be_stored() else ToolIndex(tools)

    def rank(self, query: str, limit: int = 10) -> list[Ranked]:
        return [
            Ranked(self._numbers[match.tool.server, match.tool.name], match.relevance)
            for match in self._found(query, limit)
        ]

    def packed(self, query: str) -> list[Ranked]:
        """The hits that the gateway keeps within its token budget."""
        return [Ranked(self._numbers[hit.server, hit.tool], hit.relevance) for hit in self._packed(query)]

    def answer(self, query: str) -> str:
        return compact(render.search(SearchAnswer(self._packed(query))))

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
        found = self._words.scores({**parsed.own, **parsed.kin})
        top = heapq.nsmallest(limit, ((-score, self._numbers[document]) for document, score in found.items()))
        return [Ranked(number, -score) for score, number in top]

    def answer(self, _query: str) -> str:
        return ""


def meaning(cache: VectorCache) -> VectorRanker:
    """Our encoder alone."""
    encoder = Encoder.load()
    return VectorRanker(f"toolcrib {encoder.identity}", encoder.encode, cache)


def can_be_stored() -> bool:
    return hasattr(ToolIndex, "save") and hasattr(ToolIndex, "load")


def stored_index(tools: Sequence[Tool], cache: VectorCache) -> ToolIndex:
    """The index of these tools from the cache, made and put there where it is missing."""
    if cache.folder is None:
        return ToolIndex(tools)
    file = cache.folder / f"index-{_code()}-{_digest(tool.fingerprint + tool.server for tool in tools)}"
    noted = file.with_suffix(".seconds")
    if noted.is_file():
        cache.spared_seconds += float(noted.read_text("ascii"))
        return load_index(file)
    start = time.perf_counter()
    index = ToolIndex(tools)
    took = time.perf_counter() - start
    file.parent.mkdir(parents=True, exist_ok=True)
    save_index(index, file)
    noted.write_text(str(took), encoding="ascii")
    return index


def save_index(index: Any, file: Path) -> None:
    index.save(file)


def load_index(file: Path) -> ToolIndex:
    load: Callable[[Path], ToolIndex] = getattr(ToolIndex, "load")  # noqa: B009 - the index may not have it yet
    return load(file)


def _hit(tool: Tool, relevance: float) -> SearchHit:
    return SearchHit(tool.server, tool.name, tool.summary, relevance)


def _code() -> str:
    """Changes with every line of the engine, and with its weights."""
    folder = Path(toolcrib.search.__path__[0])
    return _digest(
        path.read_bytes().hex() for path in sorted(folder.rglob("*")) if path.suffix in {".py", ".safetensors"}
    )


def _digest(texts: Iterable[str]) -> str:
    found = hashlib.sha256()
    for text in texts:
        found.update(text.encode())
    return found.hexdigest()[:16]
