"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

import numpy as np

from bench.search_quality.bootstrap import Interval, paired
from bench.search_quality.data import LABELLED_SETS
from bench.search_quality.measure import Run
from bench.search_quality.rankers import OURS, RANKERS
from bench.search_quality.results import Results

QUALITIES = ("ndcg@10", "hit@1", "recall@1", "recall@5", "recall@10", "mrr")
COSTS = (
    "p50 ms",
    "p99 ms",
    "p50 cpu ms",
    "p50 ms keywords",
    "p50 ms goal",
    "p50 ms step",
    "build s",
    "tokens",
    "tokens p90",
)
RESOURCES = ("tools", "memory MB", "p50 ms", "p99 ms", "p50 cpu ms", "build s", "save s", "load s", "first query ms")
MEAN = "mean of five"


def document(results: Results) -> str:
    """Every table there are figures for."""
    parts = [
        *(quality_table(results, figure) for figure in QUALITIES),
        typos_table(results),
        differences_table(results),
        *(costs_table(results, name) for name in sets_of(results)),
        resources_table(results),
        nothing_fits_table(results),
        reliability_table(results),
        answers_table(results),
    ]
    return "\n\n".join(filter(None, parts))


def sets_of(results: Results) -> list[str]:
    return list(dict.fromkeys(run.set for run in results.runs))


def rankers_of(results: Results) -> list[str]:
    """In the order they are named in, ours first."""
    found = {run.ranker for run in results.runs}
    return [name for name in RANKERS if name in found]


def mean_of_five(results: Results, ranker: str, figure: str, *, typos: bool = False) -> float | None:
    """The mean over the labelled sets, where all five were measured."""
    runs = [results.find(name, ranker, typos=typos) for name in LABELLED_SETS]
    known = [run.figures[figure] for run in runs if run is not None]
    return fmean(known) if len(known) == len(LABELLED_SETS) else None


def quality_table(results: Results, figure: str) -> str:
    sets = sets_of(results)
    rows = []
    for ranker in rankers_of(results):
        cells = [_figure(results.find(name, ranker), figure) for name in sets]
        rows.append([ranker, *map(_shown, cells), _shown(mean_of_five(results, ranker, figure))])
    return _table(figure, [*sets, MEAN], rows)


def typos_table(results: Results) -> str:
    """nDCG@10 with typos, and how much less that is than without."""
    sets = sets_of(results)
    rows = []
    for ranker in rankers_of(results):
        cells = [
            _loss(*(_figure(results.find(name, ranker, typos=typos), "ndcg@10") for typos in (False, True)))
            for name in sets
        ]
        means = [mean_of_five(results, ranker, "ndcg@10", typos=typos) for typos in (False, True)]
        rows.append([ranker, *cells, _loss(*means)])
    return _table("ndcg@10 with typos", [*sets, MEAN], [row for row in rows if any(row[1:])])


def _loss(clean: float | None, typed: float | None) -> str:
    return "" if clean is None or typed is None else f"{typed:.1f} ({typed - clean:+.1f})"


def differences_table(results: Results) -> str:
    """nDCG@10 and hit@1 of ours less those of each rival, with paired bootstrap intervals."""
    sets = sets_of(results)
    rows = []
    for ranker in rankers_of(results):
        if ranker != OURS:
            cells = [_intervals(results, ranker, [name]) for name in sets]
            rows.append([ranker, *cells, _intervals(results, ranker, LABELLED_SETS)])
    return _table("toolcrib less …", [*sets, MEAN], [row for row in rows if any(row[1:])])


def _intervals(results: Results, ranker: str, sets: Sequence[str]) -> str:
    found = [(results.find(name, OURS), results.find(name, ranker)) for name in sets]
    pairs = [(ours, theirs) for ours, theirs in found if ours is not None and theirs is not None]
    if not pairs or len(pairs) < len(sets):
        return ""
    return f"{_interval(pairs, 'ndcg')}, hit {_interval(pairs, 'hit')}"


def _interval(pairs: Sequence[tuple[Run, Run]], figure: str) -> str:
    values = [(getattr(ours, figure), getattr(theirs, figure)) for ours, theirs in pairs]
    found = Interval(*(100 * value for value in paired(values, np.random.default_rng(0))))
    return f"{found.difference:+.1f} [{found.low:.1f}, {found.high:.1f}]"


def costs_table(results: Results, set_name: str) -> str:
    runs = [run for ranker in rankers_of(results) if (run := results.find(set_name, ranker)) is not None]
    known = [figure for figure in COSTS if any(figure in run.figures for run in runs)]
    rows = [[run.ranker, *(_shown(run.figures.get(figure), 2) for figure in known)] for run in runs]
    return _table(f"{set_name}, {runs[0].tools} tools", known, rows) if runs else ""


def resources_table(results: Results) -> str:
    rows = [[name, *(_shown(own.get(figure), 2) for figure in RESOURCES)] for name, own in results.resources.items()]
    return _table("in a process of its own", RESOURCES, rows)


def nothing_fits_table(results: Results) -> str:
    rows = [[name, f"{own['auroc']:.3f}", f"{own['present']:.0f}"] for name, own in results.nothing_fits.items() if own]
    return _table("nothing fits", ["AUROC", "queries of each kind"], rows)


def reliability_table(results: Results) -> str:
    if not results.reliability:
        return ""
    kinds = list(results.reliability)
    headings = [f"{kind}: {what}" for kind in kinds for what in ("hits", "mean relevance", "right")]
    rows = [[f"{step / 10:.1f} to {(step + 1) / 10:.1f}", *_bins(results, kinds, step)] for step in range(10)]
    errors = [cell for kind in kinds for cell in ("", "", f"{results.reliability[kind]['error']:.3f}")]
    return _table("relevance", headings, [*rows, ["mean error", *errors]])


def _bins(results: Results, kinds: Iterable[str], step: int) -> Iterator[str]:
    for kind in kinds:
        found = results.reliability[kind]["bins"][step]
        yield from ("0", "", "") if found is None else (str(found[0]), f"{found[1]:.2f}", f"{found[2]:.2f}")


def answers_table(results: Results) -> str:
    rows = [[name, *(_shown(value) for value in own.values())] for name, own in results.answers.items()]
    return _table("answers", next(iter(results.answers.values()), {}), rows)


def _figure(run: Run | None, figure: str) -> float | None:
    return None if run is None else run.figures[figure]


def _shown(value: float | None, decimals: int = 1) -> str:
    return "" if value is None else f"{value:.{0 if value >= 1000 else decimals}f}"


def _table(title: str, columns: Iterable[str], rows: Sequence[Sequence[str]]) -> str:
    """Nothing where there are no rows."""
    if not rows:
        return ""
    headings = [title, *columns]
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
