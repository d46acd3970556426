"""Columns of text that line up; what does not fit a column goes on below, between words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from toolcrib.cli.terminal import Terminal, width_of, wrap
from toolcrib.model.clean_text import clean

GAP = "  "
NARROWEST_LAST = 16
NARROWEST = 10


def print_table(
    out: Terminal, headings: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str | None] = ()
) -> None:
    """Headings and rows of foreign text; `styles` colours the first cell of each row. The last column gives way first."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(headings, *cells, strict=True)]
    if out.width is not None:
        widths = _fitted(widths, out.width)
    out.write(out.paint(_line(headings, widths), "bold"))
    for row, style in zip_longest(cells, styles[: len(cells)]):
        for parts in _lines(row, widths):
            line = _line(parts, widths)
            out.write(out.paint(parts[0], style) + line[len(parts[0]) :] if style else line)


def _fitted(widths: Sequence[int], columns: int) -> list[int]:
    """Widths that keep the table within the columns: the last column gives way down to a third, then the widest other."""
    available = columns - len(GAP) * (len(widths) - 1)
    *others, last = widths
    least = min(last, max(NARROWEST_LAST, columns // 3))
    while sum(others) + least > available and max(others, default=0) > NARROWEST:
        others[others.index(max(others))] -= 1
    return [*others, min(last, max(least, available - sum(others)))]


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """The lines of a row: the first parts of all its cells, then the second ones, and so on."""
    wrapped = [wrap(cell, width, breaks_words=True) for cell, width in zip(row, widths, strict=True)]
    if len(wrapped[0]) > 1:
        # Further in, so that the rest of a long name is not taken for another row.
        first, *rest = wrap(row[0], widths[0] - len(GAP), breaks_words=True)
        wrapped[0] = [first, *(GAP + piece for piece in rest)]
    return [list(parts) for parts in zip_longest(*wrapped, fillvalue="")]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - width_of(cell)) for cell, width in zip(cells, widths, strict=True)]
    return GAP.join(padded).rstrip()
