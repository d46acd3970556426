"""What JSON calls the types of values, and how text about them is cut short."""

from __future__ import annotations

from typing import Any

# Ends what was too long to be shown in full.
CUT = "…"

_TYPE_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def type_name(value: Any) -> str:
    """The JSON type of a value."""
    return "null" if value is None else _TYPE_NAMES.get(type(value), type(value).__name__)
