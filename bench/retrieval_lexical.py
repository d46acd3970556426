"""How well and how fast the lexical index finds tools, beside the formula of seed 002.

    python bench/retrieval_lexical.py DATA_FOLDER [SET ...]

DATA_FOLDER holds one folder per labelled set (`tools`, `queries` and `qrels` as gzipped JSON lines), and `intents` over
the tools of `toucan`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from toolcrib.model.tool import Tool
from toolcrib.search.index import ToolIndex

DATA_BESIDE_THE_PROJECT = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"
LABELLED_SETS = ("azure_mcp", "metatool", "sealtools", "bfcl", "stabletoolbench")
INTENTS = "intents"
DEPTH = 10

ToolKey = tuple[str, str]
Search = Callable[[str], list[Tool]]


@dataclass(frozen=True)
class LabelledSet:
    """Tools, and queries with the tools that answer them."""

    name: str
    tools: list[Tool]
    queries: list[tuple[str, set[ToolKey]]]


@dataclass(frozen=True)
class Figures:
    """Mean quality in percent, times in milliseconds (the build in seconds)."""

    ndcg: float
    recall_1: float
    recall_5: float
    hit_1: float
    p50: float
    p99: float
    build: float

    def __str__(self) -> str:
        quality = f"{self.ndcg:6.1f} {self.recall_1:6.1f} {self.recall_5:6.1f} {self.hit_1:6.1f}"
        return f"{quality} {self.p50:8.2f} {self.p99:8.2f} {self.build:8.2f}"


def main() -> None:
    """Print one line per set and ranker."""
    parser = argparse.ArgumentParser(description="Quality and speed of lexical search on labelled sets.")
    parser.add_argument("folder", type=Path, nargs="?", default=DATA_BESIDE_THE_PROJECT)
    parser.add_argument("sets", nargs="*", default=[*LABELLED_SETS, INTENTS])
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        print(f"{arguments.folder}: no labelled sets there, nothing to measure")
        return
    header = f"{'ndcg10':>6} {'rec@1':>6} {'rec@5':>6} {'hit@1':>6} {'p50 ms':>8} {'p99 ms':>8} {'build s':>8}"
    print(f"{'set':16} {'ranker':8} {'tools':>6} {'asked':>6} {header}")
    found: dict[str, list[float]] = {}
    for name in arguments.sets:
        labelled = read_set(arguments.folder, name)
        for ranker, build in {"seed 002": build_seed, "bm25f": build_index}.items():
            figures = measure(labelled, build)
            size = f"{len(labelled.tools):6} {len(labelled.queries):6}"
            print(f"{name:16} {ranker:8} {size} {figures}", flush=True)
            if name in LABELLED_SETS:
                found.setdefault(ranker, []).append(figures.ndcg)
    for ranker, values in found.items():
        print(f"mean nDCG@10 over {len(values)} labelled sets, {ranker}: {fmean(values):.1f}")


def read_set(folder: Path, name: str) -> LabelledSet:
    """One labelled set; `intents` is read over the tools of `toucan`."""
    rows = list(_rows(folder / ("toucan" if name == INTENTS else name) / "tools.jsonl.gz"))
    tools = {row["id"]: _tool(row) for row in rows}
    keys = {row_id: (tool.server, tool.name) for row_id, tool in tools.items()}
    if name == INTENTS:
        intents = _rows(folder / INTENTS / "validation.jsonl")
        queries = [(text, {keys[row["id"]]}) for row in intents for text in row["q"]]
        return LabelledSet(name, list(tools.values()), queries)
    wanted: dict[str, set[ToolKey]] = {}
    for row in _rows(folder / name / "qrels.jsonl.gz"):
        wanted.setdefault(row["query_id"], set()).add(keys[row["tool_id"]])
    texts = {row["id"]: row["query"] for row in _rows(folder / name / "queries.jsonl.gz")}
    return LabelledSet(name, list(tools.values()), [(texts[query], answers) for query, answers in wanted.items()])


def measure(labelled: LabelledSet, build: Callable[[Sequence[Tool]], Search]) -> Figures:
    """Ask every query of the set once."""
    start = time.perf_counter()
    search = build(labelled.tools)
    built = time.perf_counter() - start
    times: list[float] = []
    answers: list[tuple[list[bool], int]] = []
    for query, wanted in labelled.queries:
        start = time.perf_counter()
        found = search(query)
        times.append((time.perf_counter() - start) * 1_000)
        answers.append(([(tool.server, tool.name) in wanted for tool in found], len(wanted)))
    times.sort()
    return Figures(
        ndcg=100 * fmean(_ndcg(right, total) for right, total in answers),
        recall_1=100 * fmean(sum(right[:1]) / total for right, total in answers),
        recall_5=100 * fmean(sum(right[:5]) / total for right, total in answers),
        hit_1=100 * fmean(any(right[:1]) for right, _ in answers),
        p50=times[len(times) // 2],
        p99=times[int(len(times) * 0.99)],
        build=built,
    )


def build_index(tools: Sequence[Tool]) -> Search:
    """Our index."""
    index = ToolIndex(tools)
    return lambda query: [match.tool for match in index.search(query, limit=DEPTH)]


def build_seed(tools: Sequence[Tool]) -> Search:
    """The formula of seed 002 over all tools."""
    texts = [(tool, tool.name.lower(), tool.summary.lower()) for tool in tools]

    def search(query: str) -> list[Tool]:
        lowered = query.lower()
        words = lowered.split()
        scored = [(seed_score(lowered, words, name, summary), tool) for tool, name, summary in texts]
        hits = [(score, tool) for score, tool in scored if score > 0]
        hits.sort(key=lambda hit: (-hit[0], len(hit[1].name), hit[1].id))
        return [tool for _, tool in hits[:DEPTH]]

    return search


def seed_score(query: str, words: Sequence[str], name: str, summary: str) -> float:
    """Seed 002's relevance, not capped at 1 (the cap would make most hits equal); all texts in lower case."""
    score = (1.0 if query in name else 0.0) + (0.8 if query in summary else 0.0)
    return score + sum((0.5 if word in name else 0.0) + (0.3 if word in summary else 0.0) for word in words)


def _ndcg(right: Sequence[bool], total: int) -> float:
    gained = sum(1 / math.log2(rank + 2) for rank, is_right in enumerate(right[:DEPTH]) if is_right)
    return gained / sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, total)))


def _tool(row: dict[str, Any]) -> Tool:
    definition = {"name": row["name"], "description": row["description"], "inputSchema": row["parameters"]}
    return Tool.from_mcp(row["server"], definition)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
