"""Whether `relevance` can be trusted: does it tell that nothing fits, and is it as often right as it says?"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from bench.search_quality import figures
from bench.search_quality.data import LabelledSet
from bench.search_quality.measure import Answer
from bench.search_quality.ours import Shipped
from bench.search_quality.ranker import Ranker

CATALOG_SERVERS = 50


def nothing_fits(labelled: LabelledSet, ranker: Ranker, chance: random.Random, catalogs: int) -> dict[str, float]:
    """AUROC of the top hit's score: queries whose tool is in a random catalog against as many whose tool is not."""
    present: list[float] = []
    absent: list[float] = []
    for _ in range(catalogs):
        numbers = _random_catalog(labelled, chance)
        ranker.build([labelled.tools[number] for number in sorted(numbers)])
        inside = [asked for asked in labelled.queries if asked.wanted <= numbers]
        outside = [asked for asked in labelled.queries if not asked.wanted & numbers]
        present += [_top_score(ranker, asked.text) for asked in inside]
        absent += [_top_score(ranker, asked.text) for asked in chance.sample(outside, min(len(inside), len(outside)))]
    if not present or any(map(math.isnan, present + absent)):
        return {}
    return {"auroc": figures.auroc(present, absent), "present": len(present), "absent": len(absent)}


def _random_catalog(labelled: LabelledSet, chance: random.Random) -> set[int]:
    """The numbers of the tools of so many random servers."""
    servers = sorted({tool.server for tool in labelled.tools})
    picked = set(chance.sample(servers, min(CATALOG_SERVERS, len(servers))))
    return {number for number, tool in enumerate(labelled.tools) if tool.server in picked}


def _top_score(ranker: Ranker, query: str) -> float:
    found = ranker.rank(query, 1)
    return found[0].score if found else 0.0


def reliability(answers: Sequence[Answer]) -> dict[str, Any]:
    """Ten steps of relevance: how often the first hit, and any of the ten, was right."""
    first = [(answer.hits[0].score, answer.right[0]) for answer in answers if answer.hits]
    every = [(hit.score, right) for answer in answers for hit, right in zip(answer.hits, answer.right, strict=True)]
    return {"first hit": _table(first), "every hit": _table(every)}


def _table(judged: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    found = figures.reliability(judged)
    rows = [None if one is None else [one.count, round(one.relevance, 3), round(one.right, 3)] for one in found]
    return {"bins": rows, "error": round(figures.calibration_error(found), 4)}


def packed_recall(shipped: Shipped, answers: Sequence[Answer]) -> dict[str, float]:
    """Recall@5 of the ranking, and of what is left of it in an answer that keeps the token budget."""
    packed = [shipped.packed(answer.asked.text) for answer in answers]
    kept = [Answer(answer.asked, hits, 0.0, 0.0) for answer, hits in zip(answers, packed, strict=True)]
    return {
        "recall@5": 100 * fmean(answer.recall(5) for answer in answers),
        "recall@5 packed": 100 * fmean(answer.recall(5) for answer in kept),
        "hits packed": fmean(len(answer.hits) for answer in kept),
    }
