"""A type as text, in the published form: `[:map [:owner :string] [:state {:optional true} :string]]`."""

from __future__ import annotations

from collections.abc import Iterable

from toolcrib.rtfs.map_entries import WILDCARD
from toolcrib.rtfs.spelling import form_text, key_text, quoted, writable
from toolcrib.rtfs.types import (
    Alias,
    And,
    Array,
    Entry,
    Enum,
    Fn,
    Map,
    MapOf,
    Predicate,
    Primitive,
    Resource,
    Tuple,
    TypeExpr,
    Union,
    Val,
    Vector,
)

STEP = 2


def rtfs_text(type: TypeExpr, indent: int | None = None) -> str:
    """One line; with `indent`, each entry of a map on its own line, two columns further in than that."""
    return _text(type, indent)


def _text(type: TypeExpr | Predicate, indent: int | None) -> str:
    if isinstance(type, (Primitive, Alias)):
        return f":{type.name}"
    if isinstance(type, Map):
        return _map(type, indent)
    if isinstance(type, (Enum, Val, Predicate, Resource)):
        return _bracketed(*_plain_words(type))
    return _bracketed(*_words_of_types(type, indent))


def _plain_words(type: Enum | Val | Predicate | Resource) -> tuple[str, ...]:
    if isinstance(type, Enum):
        return ("enum", *map(form_text, type.values))
    if isinstance(type, Val):
        return "val", form_text(type.value)
    if isinstance(type, Predicate):
        return (type.name, *map(form_text, type.arguments))
    return "resource", type.name


def _words_of_types(type: Vector | Tuple | Union | MapOf | And | Array | Fn, indent: int | None) -> tuple[str, ...]:
    if isinstance(type, Vector):
        return "vector", _text(type.item, indent)
    if isinstance(type, (Tuple, Union)):
        name, types = ("tuple", type.items) if isinstance(type, Tuple) else ("union", type.members)
        return (name, *_all(types, indent))
    if isinstance(type, MapOf):
        return "map-of", _text(type.key, indent), _text(type.value, indent)
    if isinstance(type, And):
        return ("and", _text(type.base, indent), *_all(type.parts, indent))
    if isinstance(type, Array):
        return ("array", _text(type.item, indent), *_dimensions(type))
    return "fn", _parameters(type, indent), _text(type.result, indent)


def _all(types: Iterable[TypeExpr | Predicate], indent: int | None) -> list[str]:
    return [_text(type, indent) for type in types]


def _bracketed(name: str, *words: str) -> str:
    return f"[{' '.join((f':{name}', *words))}]"


def _map(type: Map, indent: int | None) -> str:
    inner = None if indent is None else indent + STEP
    entries: dict[str, str] = {}
    for entry in type.entries:
        # Hostile keys may differ only in what cannot be written; then the first one stands.
        entries.setdefault(writable(entry.key), _entry(entry, inner))
    rest = () if type.rest is None else (f"[:{WILDCARD} {_text(type.rest, inner)}]",)
    between = " " if inner is None else f"\n{' ' * inner}"
    return f"[{between.join((':map', *entries.values(), *rest))}]"


def _entry(entry: Entry, indent: int | None) -> str:
    # A key that is called * must not be taken for the wildcard.
    key = quoted(entry.key) if entry.key == WILDCARD else key_text(entry.key)
    mark = " {:optional true}" if entry.optional else ""
    return f"[{key}{mark} {_text(entry.type, indent)}]"


def _dimensions(type: Array) -> list[str]:
    sizes = ("?" if size is None else str(size) for size in type.dimensions)
    return [f"[{' '.join(sizes)}]"] if type.dimensions else []


def _parameters(type: Fn, indent: int | None) -> str:
    rest = [] if type.rest is None else ["&", _text(type.rest, indent)]
    return f"[{' '.join((*_all(type.parameters, indent), *rest))}]"
