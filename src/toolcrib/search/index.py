"""The index agents search: tools in, ranked matches out."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from toolcrib.model.tool import Tool, ToolMatch
from toolcrib.search.bm25 import Block, Bm25
from toolcrib.search.document import server_documents
from toolcrib.search.exact import ExactNames, closeness
from toolcrib.search.explain import Explanation, explain_words
from toolcrib.search.query import MAX_QUERY_CHARACTERS, Query

Allowed = Callable[[Tool], bool]


class ToolIndex:
    """Tools, found by what they do or by name; `tags` gives the words that rules attach to a tool."""

    def __init__(self, tools: Iterable[Tool] = (), *, tags: Callable[[Tool], Iterable[str]] | None = None) -> None:
        self._tags = tags or _no_tags
        self._tools: dict[int, Tool] = {}
        self._blocks: dict[str, Block] = {}
        self._words = Bm25()
        self._names = ExactNames()
        self.add(tools)

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(sorted(self._blocks))

    def add(self, tools: Iterable[Tool]) -> None:
        """Add tools to their servers; one of a known server and name takes the place of the old one."""
        by_server: dict[str, dict[str, Tool]] = {}
        for tool in tools:
            by_server.setdefault(tool.server, {})[tool.name] = tool
        for server, named in by_server.items():
            known = {tool.name: tool for tool in self._tools_of(server)}
            self.remove(server)
            self._add_server(server, list({**known, **named}.values()))

    def remove(self, server: str) -> None:
        """Forget all tools of a server; an unknown one is no error."""
        block = self._blocks.pop(server, None)
        if block is None:
            return
        self._words.remove(block)
        for number in block.numbers:
            self._names.remove(number, self._tools.pop(number))

    def search(
        self, query: str, *, server: str | None = None, limit: int = 10, allowed: Allowed | None = None
    ) -> list[ToolMatch]:
        """The best matches, best first: tools named in full, then by shared words. Tools not `allowed` do not count."""
        text = query[:MAX_QUERY_CHARACTERS]
        block = None if server is None else self._blocks.get(server)
        if not text.strip() or (server is not None and block is None):
            return []
        ranked = self._ranked(text, block)
        visible = ranked if allowed is None else (match for match in ranked if allowed(match.tool))
        return list(islice(visible, max(0, limit)))

    def explain(self, query: str, tool: Tool) -> Explanation:
        """Which words of a query led to a tool of this index, and where they are in it."""
        text = query[:MAX_QUERY_CHARACTERS]
        tools = list(self._tools_of(tool.server))
        documents = server_documents(tools, [list(self._tags(one)) for one in tools])
        document = next(found for one, found in zip(tools, documents, strict=True) if one.name == tool.name)
        is_named = any(self._tools[number].id == tool.id for number in self._names.find(text))
        return Explanation(is_named, explain_words(text, document, self._words.__contains__))

    def _ranked(self, text: str, block: Block | None) -> Iterator[ToolMatch]:
        named = [number for number in self._names.find(text) if block is None or number in block.numbers]
        named.sort(key=lambda number: (closeness(self._tools[number], text), self._tie_break(number)))
        yield from (ToolMatch(self._tools[number], 1.0) for number in named)
        query = Query.parse(text, self._words.__contains__)
        scores = self._words.scores({**query.own, **query.kin}, block)
        for number in named:
            scores.pop(number, None)
        ideal = self._words.ideal(query.own)
        for number in self._best_first(scores):
            yield ToolMatch(self._tools[number], _relevance(scores[number] / ideal))

    def _best_first(self, scores: Mapping[int, float]) -> Iterator[int]:
        """Numbers by falling score, sorted only as far as someone looks."""
        heap = [(-score, number) for number, score in scores.items()]
        heapq.heapify(heap)
        while heap:
            best, number = heapq.heappop(heap)
            equals = [number]
            while heap and heap[0][0] == best:
                equals.append(heapq.heappop(heap)[1])
            yield from sorted(equals, key=self._tie_break)

    def _tie_break(self, number: int) -> tuple[int, str, str]:
        tool = self._tools[number]
        return len(tool.name), tool.server, tool.name

    def _add_server(self, server: str, tools: list[Tool]) -> None:
        block = self._words.add(server_documents(tools, [list(self._tags(tool)) for tool in tools]))
        self._blocks[server] = block
        for number, tool in zip(block.numbers, tools, strict=True):
            self._tools[number] = tool
            self._names.add(number, tool)

    def _tools_of(self, server: str) -> Iterator[Tool]:
        block = self._blocks.get(server)
        return (self._tools[number] for number in (block.numbers if block else ()))


def _relevance(share: float) -> float:
    """The share of a perfect score, as a chance to be right: fitted by eye to the training queries, never certain."""
    return round(min(math.pow(share, 0.6), 0.99), 2)


def _no_tags(_tool: Tool) -> Iterable[str]:
    return ()
