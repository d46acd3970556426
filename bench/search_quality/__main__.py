"""Start it through bench/retrieval.py, which also sees to it that one core is used."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from bench.search_quality import measure, trust
from bench.search_quality.chart import chart
from bench.search_quality.data import (
    DATA_BESIDE_THE_PROJECT,
    INTENTS,
    LabelledSet,
    find_sets,
    mistyped,
    read_set,
    sample,
)
from bench.search_quality.options import options
from bench.search_quality.ours import Shipped
from bench.search_quality.ranker import Ranker
from bench.search_quality.rankers import RANKERS, installed
from bench.search_quality.resources import in_a_child
from bench.search_quality.results import Results, read_results
from bench.search_quality.tables import document
from bench.search_quality.vectors import VectorCache

LARGE = 100_000
CHANCE = 20_261_115


class Measurement:
    """One run of the benchmark: what was asked for, and what has been found so far."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._asked = asked
        self._names = installed(asked.rankers)
        self._cache = VectorCache(asked.cache)
        self._ours: list[measure.Answer] = []
        self.results = Results()

    def measure_set(self, folder: Path) -> None:
        """All that was asked for about one set."""
        labelled = sample(read_set(folder), self._asked.sample, random.Random(CHANCE))
        parts = self._asked.parts
        for name in self._names if {"quality", "typos"} & set(parts) else ():
            self._quality(labelled, name)
        if labelled.name == INTENTS:
            for name in self._names:
                self._intents(folder, labelled, name)
        self._write()

    def finish(self) -> None:
        if self._ours:
            self.results.reliability = trust.reliability(self._ours)
        self.results.take_over(read_results(self._asked.earlier))
        self._write()
        if self._asked.svg:
            self._asked.svg.write_text(chart(self.results), encoding="utf-8")

    def _write(self) -> None:
        if self._asked.json:
            self.results.write(self._asked.json)

    def _quality(self, labelled: LabelledSet, name: str) -> None:
        ranker = RANKERS[name](self._cache)
        built = measure.build_seconds(ranker, labelled, self._cache)
        if "quality" in self._asked.parts:
            answers = measure.ask(ranker, labelled.queries)
            costs = {**measure.speed(answers), "build s": built, **measure.answer_tokens(ranker, labelled.queries)}
            self._keep(measure.summed_up(labelled, name, answers, costs, typos=False))
            self._trust(labelled, ranker, answers)
        if "typos" in self._asked.parts:
            typed = mistyped(labelled, random.Random(CHANCE))
            self._keep(measure.summed_up(typed, name, measure.ask(ranker, typed.queries), {}, typos=True))

    def _trust(self, labelled: LabelledSet, ranker: Ranker, answers: list[measure.Answer]) -> None:
        if isinstance(ranker, Shipped):
            self._ours += answers
            self.results.answers[labelled.name] = trust.packed_recall(ranker, answers)

    def _intents(self, folder: Path, labelled: LabelledSet, name: str) -> None:
        """What is measured on the largest set alone."""
        parts = self._asked.parts
        if "nothing-fits" in parts:
            catalogs = self._asked.catalogs
            found = trust.nothing_fits(labelled, RANKERS[name](self._cache), random.Random(CHANCE), catalogs)
            self.results.nothing_fits[name] = found
            _tell("nothing fits", name, found)
        if "resources" in parts:
            self._resources(f"{name}, {len(labelled.tools)} tools", folder, name, None)
        if "large" in parts:
            self._resources(f"{name}, {LARGE} tools", folder, name, LARGE)

    def _resources(self, row: str, folder: Path, name: str, tools: int | None) -> None:
        self.results.resources[row] = in_a_child(folder, name, self._asked.cache, tools)
        _tell("resources", row, self.results.resources[row])

    def _keep(self, run: measure.Run) -> None:
        self.results.runs.append(run)
        _tell(run.set + (" with typos" if run.typos else ""), run.ranker, run.figures)


def _tell(what: str, who: str, figures: dict[str, float]) -> None:
    shown = "  ".join(f"{name} {value:.2f}" for name, value in figures.items())
    print(f"{what}: {who}: {shown}", flush=True)


def main(arguments: list[str]) -> int:
    asked = options(arguments)
    folders = find_sets(asked.folders or [DATA_BESIDE_THE_PROJECT], asked.sets)
    if not folders and not asked.earlier:
        print(
            f"no labelled sets in {', '.join(map(str, asked.folders or [DATA_BESIDE_THE_PROJECT]))}, nothing to measure"
        )
        return 0
    run = Measurement(asked)
    for folder in folders:
        run.measure_set(folder)
    run.finish()
    print(f"\n{document(run.results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
