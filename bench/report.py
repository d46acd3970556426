"""Figures with their bars, as a table and as JSON."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One measured value; `bar` is the most it may be, `aim` the most we would like it to be."""

    name: str
    value: float
    unit: str = ""
    bar: float | None = None
    aim: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        if self.value > self.bar:
            return "MISSED"
        return "met" if self.aim is None or self.value <= self.aim else "met, not the aim"


class Report:
    """Collects figures and shows each as soon as it is known."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.figures: list[Figure] = []
        print(title)

    def add(self, figure: Figure) -> None:
        self.figures.append(figure)
        bar = "" if figure.bar is None else f"<= {figure.bar:g}"
        aim = "" if figure.aim is None else f" (aim {figure.aim:g})"
        value = f"{figure.value:,.{_decimals(figure.value)}f} {figure.unit}"
        print(f"  {figure.name:58} {value:>14}  {bar + aim:18} {figure.verdict:16} {figure.note}".rstrip(), flush=True)

    def finish(self, file: Path | None) -> None:
        """Say what was missed, and write everything down where that is asked for."""
        missed = [figure.name for figure in self.figures if figure.verdict == "MISSED"]
        print(f"MISSED: {'; '.join(missed)}" if missed else "every bar was met")
        if file is not None:
            rows = [{**asdict(figure), "verdict": figure.verdict} for figure in self.figures]
            file.write_text(json.dumps({"title": self.title, "figures": rows}, indent=1) + "\n", encoding="utf-8")


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser with what every benchmark takes."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    return parser


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def batch_ratios(
    ours: Sequence[float],
    theirs: Sequence[float],
    batch: int,
    typical: Callable[[Sequence[float]], float] = statistics.median,
) -> list[float]:
    """The ratio of what is typical in each batch: both met the same moment, so that a busy machine cancels out."""
    starts = range(0, min(len(ours), len(theirs)) - batch + 1, batch)
    return [typical(ours[at : at + batch]) / typical(theirs[at : at + batch]) for at in starts]


def spread(values: Iterable[float]) -> str:
    """Where most of the values lie."""
    known = list(values)
    return f"{percentile(known, 0.1):.2f} to {percentile(known, 0.9):.2f}"


def _decimals(value: float) -> int:
    return 0 if value >= 1000 or value == int(value) else 2 if value < 100 else 1
