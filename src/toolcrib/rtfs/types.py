"""Types, as frozen values: the one inner form that RTFS texts, JSON Schemas and signatures are read from and written to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from toolcrib.rtfs.forms import Form, Literal

PRIMITIVES = frozenset(("int", "float", "string", "bool", "nil", "keyword", "symbol", "any", "never"))


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type with a name of its own; `is_cut` marks an :any that stands for more than was looked at."""

    name: str
    is_cut: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Vector:
    """Any number of items of one type."""

    item: TypeExpr


@dataclass(frozen=True, slots=True)
class Tuple:
    """So many items, each of its own type."""

    items: tuple[TypeExpr, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a map; `description` is for people and is no part of the type."""

    key: str
    type: TypeExpr
    optional: bool = False
    description: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Map:
    """Known keys; `rest` is the type of all others, :never where there may be none, and None where nothing is said."""

    entries: tuple[Entry, ...] = ()
    rest: TypeExpr | None = None


@dataclass(frozen=True, slots=True)
class MapOf:
    """Any keys of one type to values of one type."""

    key: TypeExpr
    value: TypeExpr


@dataclass(frozen=True, slots=True)
class Union:
    """One of several types; build it with `union_of`, which keeps it in its one normal order."""

    members: tuple[TypeExpr, ...]


@dataclass(frozen=True, slots=True)
class Enum:
    """One of these values."""

    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Val:
    """Exactly this value."""

    value: Literal


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on a value, such as `[:>= 1]`; it is never evaluated here."""

    name: str
    arguments: tuple[Form, ...] = ()


@dataclass(frozen=True, slots=True)
class And:
    """A type and what must hold besides: predicates or further types."""

    base: TypeExpr
    parts: tuple[Predicate | TypeExpr, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """Items in fixed dimensions; None is a dimension of any length, no dimensions at all leave the shape open."""

    item: TypeExpr
    dimensions: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Fn:
    """A function; `rest` is the type of further arguments."""

    parameters: tuple[TypeExpr, ...]
    rest: TypeExpr | None
    result: TypeExpr


@dataclass(frozen=True, slots=True)
class Resource:
    """A handle to something outside."""

    name: str


@dataclass(frozen=True, slots=True)
class Alias:
    """A type defined elsewhere."""

    name: str


TypeExpr: TypeAlias = (
    Primitive | Vector | Tuple | Map | MapOf | Union | Enum | Val | And | Array | Fn | Resource | Alias
)

INT, FLOAT, STRING, BOOL = Primitive("int"), Primitive("float"), Primitive("string"), Primitive("bool")
NIL, ANY, NEVER = Primitive("nil"), Primitive("any"), Primitive("never")
KEYWORD = Primitive("keyword")
CUT = Primitive("any", is_cut=True)


def union_of(members: Iterable[TypeExpr]) -> TypeExpr:
    """One of these: inner unions are opened, repeats dropped, :nil last; a single one is itself, none is :never."""
    flat = dict.fromkeys(inner for member in members for inner in members_of(member))
    ordered = (*(member for member in flat if member != NIL), *(member for member in flat if member == NIL))
    if len(ordered) == 1:
        return ordered[0]
    return Union(ordered) if ordered else NEVER


def optional(type: TypeExpr) -> TypeExpr:
    """The type or :nil, which is the same as `T?`."""
    return union_of((type, NIL))


def members_of(type: TypeExpr) -> tuple[TypeExpr, ...]:
    """The alternatives of a union; any other type is its own only one."""
    return type.members if isinstance(type, Union) else (type,)
