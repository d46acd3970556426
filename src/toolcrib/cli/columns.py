"""Lines that line up though more of them come later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from toolcrib.cli.terminal import width_of

GAP = "  "
# What is wider pushes its own line alone.
WIDEST = 40


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns with a width for each: enough for most of what may come. The last one is as wide as it needs to be."""

    names: tuple[str, ...]
    widths: tuple[int, ...]

    def for_rows(self, rows: Iterable[Sequence[str]]) -> Columns:
        """Wide enough for these rows too."""
        columns = zip(self.widths, *rows, strict=True)
        widest = (max(width, *map(width_of, cells), 0) for width, *cells in columns)
        return replace(
            self, widths=tuple(max(width, min(most, WIDEST)) for width, most in zip(self.widths, widest, strict=True))
        )

    @property
    def heading(self) -> str:
        return self.line(self.names)

    def line(self, cells: Sequence[str]) -> str:
        padded = (cell + " " * (width - width_of(cell)) for cell, width in zip(cells, self.widths, strict=True))
        return GAP.join(padded).rstrip()
