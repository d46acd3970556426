"""What JSON calls the types of values."""

from __future__ import annotations

from typing import Any

_TYPE_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def type_name(value: Any) -> str:
    """The JSON type of a value."""
    return "null" if value is None else _TYPE_NAMES.get(type(value), type(value).__name__)
