"""A type in the short notation agents read: `string[]`, `"open"|"closed"`, `{a: string, b?: integer}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from toolcrib.rtfs.types import (
    NEVER,
    And,
    Array,
    Entry,
    Enum,
    Fn,
    Map,
    MapOf,
    Predicate,
    Primitive,
    Tuple,
    TypeExpr,
    Union,
    Val,
    Vector,
    union_of,
)
from toolcrib.schema.type_names import CUT

LITERALS_CHARACTERS = 80
LITERAL_CHARACTERS = 40

_NAMES = {"int": "integer", "float": "number", "bool": "boolean", "nil": "null"}
_FIELD_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,63}")


class TypeWriter:
    """Writes types; `depth` says how many levels of objects are spelled out, and lists of values have their limit too."""

    def __init__(
        self, *, depth: int, unopened_object: str = "{…}", literals_characters: int = LITERALS_CHARACTERS
    ) -> None:
        self._depth = depth
        self._unopened_object = unopened_object
        self._literals_characters = literals_characters

    def text(self, type: TypeExpr) -> str:
        return "|".join(self._parts(type, self._depth))

    def fields(self, members: Map) -> list[str]:
        """The members of an object, as `name: type` or `name?: type`, the required ones first."""
        return self._fields(members, self._depth + 1)

    def _parts(self, type: TypeExpr, depth: int) -> list[str]:
        """The alternatives of a type."""
        if isinstance(type, Union):
            found = [part for member in type.members for part in self._parts(member, depth)]
            return list(dict.fromkeys(found))
        if isinstance(type, Enum):
            return _literals((value.value for value in type.values), self._literals_characters)
        if isinstance(type, And):
            return self._and(type, depth)
        return [self._single(type, depth)]

    def _single(self, type: TypeExpr, depth: int) -> str:
        if isinstance(type, Primitive):
            return CUT if type.is_cut else _NAMES.get(type.name, type.name)
        if isinstance(type, (Vector, Array)):
            return self._array(type, depth)
        if isinstance(type, (Map, MapOf)):
            return self._object(type, depth)
        if isinstance(type, Tuple):
            return f"[{', '.join('|'.join(self._parts(item, depth)) for item in type.items)}]"
        if isinstance(type, Val):
            return _literal(type.value.value)
        return "function" if isinstance(type, Fn) else _field_name(getattr(type, "name", "any"))

    def _and(self, type: And, depth: int) -> list[str]:
        """Listed values say all there is to say; bounds are left to the schema."""
        types = [part for part in type.parts if not isinstance(part, Predicate)]
        listed = [part for part in types if isinstance(part, Enum)]
        if listed or not types:
            return self._parts(listed[0] if listed else type.base, depth)
        texts = ("|".join(self._parts(part, depth)) for part in (type.base, *types))
        return [" & ".join(dict.fromkeys(texts))]

    def _array(self, type: Vector | Array, depth: int) -> str:
        marks = "[]" * (max(1, len(type.dimensions)) if isinstance(type, Array) else 1)
        parts = self._parts(type.item, depth)
        if parts == ["any"]:
            return "array"
        return f"{parts[0]}{marks}" if len(parts) == 1 else f"({'|'.join(parts)}){marks}"

    def _object(self, type: Map | MapOf, depth: int) -> str:
        members = members_of_object(type)
        if depth > 0 and (members.entries or _has_rest(members)):
            return f"{{{', '.join(self._fields(members, depth))}}}"
        return self._unopened_object if members.entries else "object"

    def _fields(self, members: Map, depth: int) -> list[str]:
        ordered = sorted(members.entries, key=lambda entry: entry.optional)
        fields = [self._field(entry, depth) for entry in ordered]
        if members.rest is not None and _has_rest(members):
            fields.append(f"[key]: {'|'.join(self._parts(members.rest, depth - 1))}")
        return fields

    def _field(self, entry: Entry, depth: int) -> str:
        mark = "?" if entry.optional else ""
        return f"{_field_name(entry.key)}{mark}: {'|'.join(self._parts(entry.type, depth - 1))}"


def members_of_object(type: TypeExpr) -> Map:
    """The members of an object type; of several alternatives all members, required where each requires them."""
    if isinstance(type, Map):
        return type
    if isinstance(type, MapOf):
        return Map((), type.value)
    if isinstance(type, And):
        return members_of_object(type.base)
    return _gathered(type.members) if isinstance(type, Union) else Map()


def _gathered(types: Iterable[TypeExpr]) -> Map:
    objects = [members_of_object(type) for type in types if isinstance(type, (Map, MapOf, And))]
    gathered: dict[str, list[Entry]] = {}
    for entry in (entry for found in objects for entry in found.entries):
        gathered.setdefault(entry.key, []).append(entry)
    needed = [{entry.key for entry in found.entries if not entry.optional} for found in objects]
    always = set.intersection(*needed) if needed else set()
    return Map(tuple(_one_entry(key, found, key not in always) for key, found in gathered.items()))


def _one_entry(key: str, entries: list[Entry], optional: bool) -> Entry:
    description = next((entry.description for entry in entries if entry.description), "")
    return Entry(key, union_of(entry.type for entry in entries), optional, description)


def _has_rest(members: Map) -> bool:
    return members.rest is not None and members.rest != NEVER


def _literals(values: Iterable[Any], room: int) -> list[str]:
    """The allowed values, as many as are short enough to list."""
    shown: list[str] = []
    for value in values:
        text = _literal(value)
        room -= len(text) + 1
        if room < 0:
            return [*shown, CUT]
        shown.append(text)
    return list(dict.fromkeys(shown)) or ["never"]


def _literal(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LITERAL_CHARACTERS else f"{text[: LITERAL_CHARACTERS - 1]}{CUT}"


def _field_name(name: str) -> str:
    return name if _FIELD_NAME.fullmatch(name) else _literal(name)
