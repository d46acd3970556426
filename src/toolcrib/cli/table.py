"""Columns of text that line up, cut to the width of the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.cli.terminal import Terminal, shorten, width_of
from toolcrib.model.clean_text import clean

GAP = "  "
NARROWEST_LAST = 16


def print_table(
    out: Terminal, headings: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str | None] = ()
) -> None:
    """Headings and rows of foreign text; `styles` colours the first cell of each row. The last column gives way."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(headings, *cells, strict=True)]
    if out.width is not None:
        taken = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
        widths[-1] = min(widths[-1], max(NARROWEST_LAST, out.width - taken))
    out.write(out.paint(_line(headings, widths), "bold"))
    for number, row in enumerate(cells):
        style = styles[number] if number < len(styles) else None
        line = _line(row, widths)
        out.write(out.paint(row[0], style) + line[len(row[0]) :] if style else line)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    fitted = [shorten(cell, width) for cell, width in zip(cells, widths, strict=True)]
    padded = [cell + " " * (width - width_of(cell)) for cell, width in zip(fitted, widths, strict=True)]
    return GAP.join(padded).rstrip()
