"""Text that cannot be read as data, and where in it."""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 64


class Malformed(Exception):
    """What is wrong with a text, at a line and column where known (both counted from 1)."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    @property
    def place(self) -> str:
        if self.line is None:
            return ""
        return f"line {self.line}" if self.column is None else f"line {self.line}, column {self.column}"


def check_depth(data: Any) -> None:
    """Raise when lists and maps are nested deeper than anyone writes by hand."""
    level = _containers([data])
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return
    raise Malformed(f"is nested deeper than {MAX_DEPTH} levels")


def _containers(outer: list[Any] | dict[str, Any]) -> list[Any]:
    values = outer.values() if isinstance(outer, dict) else outer
    return [value for value in values if isinstance(value, dict | list)]
