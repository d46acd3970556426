"""The plainer type that is published: no lists of values, no bounds, and :nil only as 'may be left out'.

What is left away here is not lost: arguments are checked against the server's own JSON Schema.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolcrib.rtfs.forms import Literal
from toolcrib.rtfs.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    KEYWORD,
    NEVER,
    NIL,
    STRING,
    And,
    Array,
    Entry,
    Enum,
    Fn,
    Map,
    MapOf,
    Tuple,
    TypeExpr,
    Union,
    Val,
    Vector,
    members_of,
    union_of,
)

_TYPES_OF_LITERALS = {"nil": NIL, "bool": BOOL, "int": INT, "float": FLOAT, "keyword": KEYWORD}


def published_form(type: TypeExpr) -> TypeExpr:
    """The type without values and bounds; a lone :nil becomes :any, an entry that may be :nil becomes optional."""
    widened = _widened(type)
    return ANY if widened == NIL else widened


def type_of_literals(literals: Iterable[Literal]) -> TypeExpr:
    """The type all these values have; whole numbers among others are numbers."""
    found = dict.fromkeys(_TYPES_OF_LITERALS.get(literal.kind, STRING) for literal in literals)
    if FLOAT in found:
        found.pop(INT, None)
    return union_of(found)


def _widened(type: TypeExpr) -> TypeExpr:
    if isinstance(type, Enum):
        return type_of_literals(type.values)
    if isinstance(type, Val):
        return type_of_literals((type.value,))
    if isinstance(type, And):
        return _widened(type.base)
    if isinstance(type, Union):
        return union_of(map(_widened, type.members))
    if isinstance(type, Map):
        rest = None if type.rest in {None, NEVER} else type.rest
        other = None if rest is None else published_form(rest)
        # "Anything besides" says as much as nothing does.
        return Map(tuple(map(_entry, type.entries)), None if other == ANY else other)
    return _with_inner_types(type)


def _with_inner_types(type: TypeExpr) -> TypeExpr:
    if isinstance(type, Vector):
        return Vector(published_form(type.item))
    if isinstance(type, Tuple):
        return Tuple(tuple(map(published_form, type.items)))
    if isinstance(type, MapOf):
        key, value = published_form(type.key), published_form(type.value)
        # Texts to anything is what a map is of which nothing is known; a schema could not tell the two apart.
        return Map() if (key, value) == (STRING, ANY) else MapOf(key, value)
    if isinstance(type, Array):
        return Array(published_form(type.item), type.dimensions)
    if isinstance(type, Fn):
        rest = None if type.rest is None else published_form(type.rest)
        return Fn(tuple(map(published_form, type.parameters)), rest, published_form(type.result))
    return type


def _entry(entry: Entry) -> Entry:
    members = members_of(_widened(entry.type))
    values = [member for member in members if member != NIL]
    type = union_of(values) if values else ANY
    return Entry(entry.key, type, entry.optional or NIL in members, entry.description)
