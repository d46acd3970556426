"""A tool, or a type, in one typed line for agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.schema.type_writer import CUT, TypeWriter

SIGNATURE_CHARACTERS = 600
MAX_DEPTH = 5


def signature(name: str, schema: Mapping[str, Any], limit: int = SIGNATURE_CHARACTERS) -> str:
    """`name(a: string, b?: {c: integer})`: whole where it fits in `limit` characters, else cut with a `…`."""
    for depth in range(MAX_DEPTH, -1, -1):
        line = f"{name}({', '.join(TypeWriter(schema, depth=depth).fields(schema))})"
        if len(line) <= limit:
            return line
    return _cut(name, TypeWriter(schema, depth=0).fields(schema), limit)


def type_text(schema: Mapping[str, Any], limit: int = SIGNATURE_CHARACTERS) -> str:
    """The type of a whole schema, spelled out as deep as fits in `limit` characters."""
    for depth in range(MAX_DEPTH, -1, -1):
        line = TypeWriter(schema, depth=depth).text(schema)
        if len(line) <= limit:
            return line
    return f"{line[: limit - 1]}{CUT}"


def _cut(name: str, fields: list[str], limit: int) -> str:
    """As many parameters as fit, the required ones first."""
    kept = f"{name}("
    for field in fields:
        if len(kept) + len(field) + len(f", {CUT})") > limit:
            break
        kept += f"{field}, "
    line = f"{kept}{CUT})"
    return line if len(line) <= limit else f"{line[: limit - 1]}{CUT}"
