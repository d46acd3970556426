"""A bar chart of nDCG@10, drawn by hand as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from bench.search_quality.data import INTENTS
from bench.search_quality.rankers import OURS
from bench.search_quality.results import Results
from bench.search_quality.tables import mean_of_five, rankers_of

WIDTH = 720
LABELS = 130
BAR = 14
ROW = 44
TOP = 56
# Readable on white and on black alike.
TEXT = "#808080"
OUR_COLOURS = ("#2f81f7", "#8ab8fb")
RIVAL_COLOURS = ("#8c959f", "#c3c9d0")
LEGEND = ("five labelled sets, mean", "intents, 14,000 tools")


def chart(results: Results) -> str:
    """Two bars for each ranker: over the labelled sets, and on the intents."""
    rows = [(name, figures) for name in rankers_of(results) if any(figures := bars(results, name))]
    height = TOP + ROW * len(rows) + 8
    drawn = "\n".join([*_legend(), *(line for at, row in enumerate(rows) for line in _row(at, *row))])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">'
    return f'{head}\n<title>nDCG@10 by ranker</title>\n<g fill="{TEXT}">\n{drawn}\n</g>\n</svg>\n'


def bars(results: Results, ranker: str) -> tuple[float | None, float | None]:
    run = results.find(INTENTS, ranker)
    return mean_of_five(results, ranker, "ndcg@10"), None if run is None else run.figures["ndcg@10"]


def _row(at: int, name: str, figures: Sequence[float | None]) -> Iterator[str]:
    top = TOP + ROW * at
    weight = ' font-weight="bold"' if name == OURS else ""
    yield f'<text x="{LABELS - 10}" y="{top + BAR + 4}" text-anchor="end"{weight}>{escape(name)}</text>'
    colours = OUR_COLOURS if name == OURS else RIVAL_COLOURS
    for number, (figure, colour) in enumerate(zip(figures, colours, strict=True)):
        if figure is not None:
            yield from _bar(top + number * (BAR + 2), figure, colour)


def _bar(top: int, figure: float, colour: str) -> Iterator[str]:
    length = figure / 100 * (WIDTH - LABELS - 50)
    yield f'<rect x="{LABELS}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>'
    yield f'<text x="{LABELS + length + 6:.1f}" y="{top + BAR - 3}">{figure:.1f}</text>'


def _legend() -> Iterator[str]:
    yield f'<text x="{LABELS}" y="18" font-weight="bold">nDCG@10, higher is better</text>'
    for number, (label, colour) in enumerate(zip(LEGEND, RIVAL_COLOURS, strict=True)):
        x = LABELS + number * 210
        yield f'<rect x="{x}" y="30" width="{BAR}" height="{BAR}" fill="{colour}"/>'
        yield f'<text x="{x + BAR + 6}" y="42">{label}</text>'
