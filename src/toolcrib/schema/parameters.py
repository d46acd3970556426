"""The parameters of a tool, each in one plain line."""

from __future__ import annotations

from toolcrib.model.view import Parameter
from toolcrib.rtfs.types import And, Entry, Map, MapOf, TypeExpr, Vector, members_of
from toolcrib.schema.fine_print import telling
from toolcrib.schema.type_writer import TypeWriter, members_of_object

DEFAULT_TYPE = "string"
LITERALS_CHARACTERS = 400

_WRITER = TypeWriter(depth=0, unopened_object="object", literals_characters=LITERALS_CHARACTERS)


def parameters(input: TypeExpr) -> tuple[Parameter, ...]:
    """What the tool takes: required parameters first, each group in alphabetical order."""
    ordered = sorted(members_of_object(input).entries, key=lambda entry: (entry.optional, entry.key))
    return tuple(map(_parameter, ordered))


def is_nested(input: TypeExpr) -> bool:
    """Whether some parameter is an object with properties or a list of objects, so that a flat list hides its form."""
    return any(_has_form(entry.type) for entry in members_of_object(input).entries)


def _parameter(entry: Entry) -> Parameter:
    written = _WRITER.text(entry.type)
    type = DEFAULT_TYPE if written == "any" else written
    return Parameter(entry.key, type, telling(entry.description, entry.key), not entry.optional)


def _has_form(type: TypeExpr) -> bool:
    return any(_shows_form(_without_conditions(member)) for member in members_of(type))


def _shows_form(type: TypeExpr) -> bool:
    if isinstance(type, Vector):
        items = map(_without_conditions, members_of(type.item))
        return any(isinstance(item, (Map, MapOf)) or _shows_form(item) for item in items)
    if isinstance(type, MapOf):
        return _has_form(type.value)
    return isinstance(type, Map) and bool(type.entries)


def _without_conditions(type: TypeExpr) -> TypeExpr:
    return type.base if isinstance(type, And) else type
