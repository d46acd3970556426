"""Asking a ranker every query of a set."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, median
from typing import Any

from bench.report import percentile
from bench.search_quality import figures
from bench.search_quality.data import Asked, LabelledSet
from bench.search_quality.ranker import Ranked, Ranker
from bench.search_quality.vectors import VectorCache
from tests.server.agent_tokens import count

# So many answers are counted in tokens; the median moves by a token or two with more.
ANSWERS_COUNTED = 300


@dataclass(frozen=True)
class Answer:
    """What came of one query."""

    asked: Asked
    hits: Sequence[Ranked]
    milliseconds: float
    processor_milliseconds: float

    @property
    def right(self) -> list[bool]:
        return [hit.number in self.asked.wanted for hit in self.hits]

    @property
    def ndcg(self) -> float:
        return figures.ndcg(self.right, len(self.asked.wanted))

    def recall(self, depth: int) -> float:
        return figures.recall(self.right, len(self.asked.wanted), depth)


@dataclass(frozen=True)
class Run:
    """One ranker on one set; `ndcg` and `hit` are query by query, `figures` the means (qualities in percent)."""

    set: str
    ranker: str
    typos: bool
    tools: int
    digest: str
    figures: dict[str, float]
    ndcg: list[float] = field(repr=False)
    hit: list[float] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def build_seconds(ranker: Ranker, labelled: LabelledSet, cache: VectorCache) -> float:
    """Build the ranker; what the cache spared counts as if it had been done."""
    spared, start = cache.spared_seconds, time.perf_counter()
    ranker.build(labelled.tools)
    return time.perf_counter() - start + cache.spared_seconds - spared


def ask(ranker: Ranker, queries: Sequence[Asked]) -> list[Answer]:
    """Every query once, in order, after one that warms up."""
    ranker.rank(queries[0].text)
    answers = []
    for asked in queries:
        start, worked = time.perf_counter(), time.process_time()
        hits = ranker.rank(asked.text, figures.DEPTH)
        took, worked = time.perf_counter() - start, time.process_time() - worked
        answers.append(Answer(asked, hits, took * 1_000, worked * 1_000))
    return answers


def quality(answers: Sequence[Answer]) -> dict[str, float]:
    return {
        "ndcg@10": 100 * fmean(answer.ndcg for answer in answers),
        "recall@1": 100 * fmean(answer.recall(1) for answer in answers),
        "recall@5": 100 * fmean(answer.recall(5) for answer in answers),
        "recall@10": 100 * fmean(answer.recall(10) for answer in answers),
        "hit@1": 100 * fmean(figures.hit(answer.right) for answer in answers),
        "mrr": 100 * fmean(figures.reciprocal_rank(answer.right) for answer in answers),
    }


def speed(answers: Sequence[Answer]) -> dict[str, float]:
    """Milliseconds of a query; for each kind of query too, where the set has several.

    Processor time is given beside the clock's because it hardly changes when the machine is busy with other work.
    """
    times = [answer.milliseconds for answer in answers]
    worked = median(answer.processor_milliseconds for answer in answers)
    found = {"p50 ms": median(times), "p99 ms": percentile(times, 0.99), "p50 cpu ms": worked}
    for kind in sorted({answer.asked.kind for answer in answers} - {""}):
        found[f"p50 ms {kind}"] = median(answer.milliseconds for answer in answers if answer.asked.kind == kind)
    return found


def answer_tokens(ranker: Ranker, queries: Sequence[Asked]) -> dict[str, float]:
    """The median answer in tokens; nothing for a ranker that has no form of answer."""
    step = max(1, len(queries) // ANSWERS_COUNTED)
    sizes = [count(ranker.answer(asked.text)) for asked in queries[::step]]
    return {"tokens": median(sizes), "tokens p90": percentile(sizes, 0.9)} if any(sizes) else {}


def summed_up(
    labelled: LabelledSet, name: str, answers: Sequence[Answer], more: dict[str, float], *, typos: bool
) -> Run:
    return Run(
        set=labelled.name,
        ranker=name,
        typos=typos,
        tools=len(labelled.tools),
        digest=labelled.digest,
        figures={**quality(answers), **more},
        ndcg=[round(answer.ndcg, 4) for answer in answers],
        hit=[figures.hit(answer.right) for answer in answers],
    )
