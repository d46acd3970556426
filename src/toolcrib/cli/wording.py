"""Small turns of phrase that several commands use."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
