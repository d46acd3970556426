"""The figures of a run, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping

Figures = dict[str, dict[str, float]]
"""Set → nDCG@10 and hit@1, in percent."""

LABELLED = ("azure_mcp", "metatool", "sealtools", "bfcl", "stabletoolbench")
COLUMNS = (*LABELLED, "intents", "mean of 5")


def overall(figures: Figures) -> float:
    """One number to choose by: half the labelled sets, half the unseen servers of the intents."""
    return (figures["mean of 5"]["ndcg"] + figures["intents"]["ndcg"]) / 2


def table(rows: Mapping[str, Figures]) -> str:
    """One line for each encoder, one column for each set."""
    lines = [f"{'nDCG@10 / hit@1':28}" + "".join(f"{name:>16}" for name in COLUMNS)]
    for name, figures in rows.items():
        cells = (_cell(figures.get(column)) for column in COLUMNS)
        lines.append(f"{name:28}" + "".join(f"{cell:>16}" for cell in cells))
    return "\n".join(lines)


def _cell(own: Mapping[str, float] | None) -> str:
    return "" if own is None else f"{own['ndcg']:.1f} / {own['hit']:.1f}"
