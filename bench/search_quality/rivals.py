"""What others do: points for substrings, plain BM25, FastMCP's search transform, and BM25 with MiniLM."""

from __future__ import annotations

import importlib
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.search_quality.minilm import minilm
from bench.search_quality.ranker import Ranked, Ranker, best
from bench.search_quality.vectors import VectorCache
from tests.server.agent_tokens import compact
from toolcrib.model.tool import Tool
from toolcrib.search.terms import terms

# The usual constant of reciprocal rank fusion, and how far down each list it looks.
FUSION_OFFSET = 60
FUSION_DEPTH = 100
# How many tools FastMCP's transform answers with unless told otherwise.
FASTMCP_RESULTS = 5


class Substrings:
    """The points of the design documents, not capped at 1 (the cap would make most hits equal)."""

    def __init__(self, _cache: VectorCache) -> None:
        self._texts: list[tuple[str, str]] = []
        self._ties: list[tuple[int, str]] = []

    def build(self, tools: Sequence[Tool]) -> None:
        self._texts = [(tool.name.lower(), tool.summary.lower()) for tool in tools]
        self._ties = [(len(tool.name), tool.id) for tool in tools]

    def rank(self, query: str, limit: int = 10) -> list[Ranked]:
        lowered = query.lower()
        words = lowered.split()
        scored = ((substring_score(lowered, words, *texts), number) for number, texts in enumerate(self._texts))
        hits = sorted((-score, self._ties[number], number) for score, number in scored if score > 0)
        return [Ranked(number, -score) for score, _, number in hits[:limit]]

    def answer(self, _query: str) -> str:
        return ""


def substring_score(query: str, words: Sequence[str], name: str, summary: str) -> float:
    """Points for the whole query and for each of its words; all texts in lower case."""
    score = (1.0 if query in name else 0.0) + (0.8 if query in summary else 0.0)
    return score + sum((0.5 if word in name else 0.0) + (0.3 if word in summary else 0.0) for word in words)


class PlainBm25:
    """BM25 over one field of all of a tool's texts, with our own way to split and stem words."""

    SATURATION = 1.5
    LENGTH_EFFECT = 0.75

    def __init__(self, _cache: VectorCache) -> None:
        self._count = 0
        self._postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}

    def build(self, tools: Sequence[Tool]) -> None:
        documents = [Counter(terms(all_text(tool))) for tool in tools]
        lengths = np.array([document.total() for document in documents], np.float32)
        dilution = 1 - self.LENGTH_EFFECT + self.LENGTH_EFFECT * lengths / lengths.mean()
        holders: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, document in enumerate(documents):
            for term, count in document.items():
                holders[term].append((number, count))
        self._count = len(tools)
        self._postings = {term: self._posting(np.array(held), dilution) for term, held in holders.items()}

    def rank(self, query: str, limit: int = 10) -> list[Ranked]:
        scores = np.zeros(self._count, np.float32)
        for term in terms(query):
            if term in self._postings:
                numbers, worth = self._postings[term]
                scores[numbers] += worth
        return best(scores, limit)

    def answer(self, _query: str) -> str:
        return ""

    def _posting(
        self, held: NDArray[np.int64], dilution: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        numbers, counts = held[:, 0], held[:, 1]
        rarity = np.log(1 + (self._count - len(held) + 0.5) / (len(held) + 0.5))
        worth = rarity * counts * (self.SATURATION + 1) / (counts + self.SATURATION * dilution[numbers])
        return numbers, worth.astype(np.float32)


def all_text(tool: Tool) -> str:
    """Server, name, description, and the names and descriptions of the parameters."""
    properties = tool.input_schema.get("properties")
    parameters = properties if isinstance(properties, dict) else {}
    told = [one.get("description") for one in parameters.values() if isinstance(one, dict)]
    return " ".join(
        [tool.server, tool.name, tool.description, *parameters, *(text for text in told if isinstance(text, str))]
    )


class FastMcp:
    """FastMCP's BM25 search transform itself; servers are prefixes of tool names, as where it mounts them."""

    def __init__(self, _cache: VectorCache) -> None:
        self._search = importlib.import_module("fastmcp.server.transforms.search")
        self._tool_type: Any = importlib.import_module("fastmcp.tools.base").Tool
        # It warns of every tool name that is not plain ASCII, and real servers have many.
        logging.getLogger("mcp.shared.tool_name_validation").setLevel(logging.ERROR)
        self._transform: Any = None
        self._tools: list[Any] = []
        self._numbers: dict[str, int] = {}

    def build(self, tools: Sequence[Tool]) -> None:
        self._numbers = {}
        for number, tool in enumerate(tools):
            self._numbers.setdefault(mounted_name(tool, ""), number)
            if self._numbers[mounted_name(tool, "")] != number:
                self._numbers[mounted_name(tool, str(number))] = number
        self._tools = [self._foreign(name, tools[number]) for name, number in self._numbers.items()]
        self._transform = self._search.BM25SearchTransform(max_results=10)
        # Its index is made by the first search.
        self._found("", 10)

    def rank(self, query: str, limit: int = 10) -> list[Ranked]:
        return [Ranked(self._numbers[tool.name], float("nan")) for tool in self._found(query, limit)]

    def answer(self, query: str) -> str:
        return compact(self._search.serialize_tools_for_output_json(self._found(query, FASTMCP_RESULTS)))

    def _found(self, query: str, limit: int) -> list[Any]:
        searching = self._transform._search(self._tools, query)  # noqa: SLF001 - the ranking has no public door
        try:
            searching.send(None)
        except StopIteration as done:
            return list(done.value)[:limit]
        raise RuntimeError("FastMCP's search waited for something, which it did not do when this was written")

    def _foreign(self, name: str, tool: Tool) -> Any:
        return self._tool_type(name=name, description=tool.description, parameters=dict(tool.input_schema))


def mounted_name(tool: Tool, mark: str) -> str:
    return "_".join(filter(None, (re.sub(r"\W+", "_", tool.server).strip("_"), tool.name, mark)))


class Fused:
    """Two rankings in one, by reciprocal rank."""

    def __init__(self, rankers: Sequence[Ranker]) -> None:
        self._rankers = rankers

    def build(self, tools: Sequence[Tool]) -> None:
        for ranker in self._rankers:
            ranker.build(tools)

    def rank(self, query: str, limit: int = 10) -> list[Ranked]:
        scores: defaultdict[int, float] = defaultdict(float)
        for ranker in self._rankers:
            for place, hit in enumerate(ranker.rank(query, FUSION_DEPTH), 1):
                scores[hit.number] += 1 / (FUSION_OFFSET + place)
        ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        return [Ranked(number, score) for number, score in ordered[:limit]]

    def answer(self, _query: str) -> str:
        return ""


def bm25_and_minilm(cache: VectorCache) -> Fused:
    return Fused((PlainBm25(cache), minilm(cache)))
