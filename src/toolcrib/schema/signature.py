"""A tool, or a type, in one typed line for agents."""

from __future__ import annotations

from toolcrib.rtfs.types import TypeExpr
from toolcrib.schema.type_names import CUT
from toolcrib.schema.type_writer import TypeWriter, members_of_object

SIGNATURE_CHARACTERS = 600
MAX_DEPTH = 5
# Long lists of values are spelled out where there is room for them; they are the first to be shortened.
ALL_LITERALS_CHARACTERS = 400

_WRITERS = (
    TypeWriter(depth=MAX_DEPTH, literals_characters=ALL_LITERALS_CHARACTERS),
    *(TypeWriter(depth=depth) for depth in range(MAX_DEPTH, -1, -1)),
)


def signature(name: str, input: TypeExpr, limit: int = SIGNATURE_CHARACTERS) -> str:
    """`name(a: string, b?: {c: integer})`: whole where it fits in `limit` characters, else cut with a `…`."""
    members = members_of_object(input)
    for writer in _WRITERS:
        fields = writer.fields(members)
        line = f"{name}({', '.join(fields)})"
        if len(line) <= limit:
            return line
    return _cut(name, fields, limit)


def short_type(type: TypeExpr, limit: int = SIGNATURE_CHARACTERS) -> str:
    """A type by itself, spelled out as deep as fits in `limit` characters."""
    for writer in _WRITERS:
        line = writer.text(type)
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
