"""JSON Schema to a type: the only converter; it never fails, and what it could not read is :any with a warning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from toolcrib.rtfs.types import (
    ANY,
    CUT,
    NEVER,
    STRING,
    Entry,
    Map,
    MapOf,
    Primitive,
    Tuple,
    TypeExpr,
    Vector,
    optional,
    union_of,
)
from toolcrib.schema.conditions import with_conditions
from toolcrib.schema.merge import RefersToItself, merge_parts
from toolcrib.schema.shape import Schema, description, listed
from toolcrib.schema.values import allowed_values

MAX_WORK = 6_000
MAX_DEPTH = 32
MAX_BRANCHES = 64
MAX_WARNINGS = 10
SHOWN_CHARACTERS = 80

_NAMES = {"string": "string", "integer": "int", "number": "float", "boolean": "bool", "null": "nil", "any": "any"}
# What makes a branch of anyOf more than a condition on the schema around it.
_TELLING = frozenset(
    "type properties items prefixItems enum const anyOf oneOf allOf $ref additionalProperties patternProperties".split()
)


@dataclass(frozen=True, slots=True)
class Converted:
    """The type a schema describes, and what in it could not be read."""

    type: TypeExpr
    warnings: tuple[str, ...] = ()


def convert(schema: Any) -> Converted:
    """The exact type of a schema, values and bounds included; `rtfs.published_form` makes the published one of it."""
    converter = _Converter(schema)
    try:
        found = converter.type(schema, _Place(references=frozenset(("#",))))
    except Exception as error:  # noqa: BLE001 (a foreign schema must not stop a discovery, whatever is in it)
        return Converted(CUT, (f"the schema cannot be read ({type(error).__name__})",))
    return Converted(found, tuple(converter.warnings))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the schema we are: the way to it, and the references being followed."""

    path: str = ""
    depth: int = 0
    references: frozenset[str] = frozenset()

    def below(self, *steps: object) -> _Place:
        path = "".join((self.path, *(f"/{str(step)[:SHOWN_CHARACTERS]}" for step in steps)))
        return replace(self, path=path, depth=self.depth + 1)

    def following(self, references: Iterable[str]) -> _Place:
        return replace(self, references=self.references.union(references))


class _Converter:
    """One schema document; what it costs is limited, whatever refers to what."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._work_left = MAX_WORK
        self.warnings: dict[str, None] = {}

    def type(self, schema: Any, place: _Place) -> TypeExpr:
        if isinstance(schema, bool):
            return ANY if schema else NEVER
        if not isinstance(schema, Mapping):
            return self._unread("is not a schema", place)
        if not self._afford(1 + len(schema) // 8) or place.depth > MAX_DEPTH:
            return self._cut("is too large or too deep", place)
        try:
            merged = merge_parts(schema, self._root, place.references)
        except RefersToItself:
            return self._cut("refers to itself", place)
        if not self._afford(merged.cost):
            return self._cut("is too large", place)
        for reference in merged.unresolved:
            self._warn(f"refers to {reference[:SHOWN_CHARACTERS]!r}, which is not in it", place)
        return self._of_merged(merged.schema, place.following(merged.references))

    def _of_merged(self, schema: Schema, place: _Place) -> TypeExpr:
        found = self._allowed_values(schema, place)
        if found is None:
            found = self._branches(schema, place) or self._by_type(schema, place)
        return optional(found) if schema.get("nullable") is True else found

    def _allowed_values(self, schema: Schema, place: _Place) -> TypeExpr | None:
        values = schema.get("enum")
        if isinstance(values, list) and not self._afford(len(values) // 2):
            return None
        found = allowed_values(schema)
        if found is None and ("enum" in schema or "const" in schema):
            self._warn("lists values that no type can hold", place)
        return found

    # -- anyOf, oneOf

    def _branches(self, schema: Schema, place: _Place) -> TypeExpr | None:
        """The union of the alternatives, each joined with what stands beside them; None where they add nothing."""
        key = "anyOf" if listed(schema, "anyOf") else "oneOf"
        around = {name: value for name, value in schema.items() if name not in {"anyOf", "oneOf"}}
        says_more = not _TELLING.isdisjoint(around)
        found = []
        for number, branch in enumerate(listed(schema, key)[:MAX_BRANCHES]):
            if says_more and isinstance(branch, Mapping) and _TELLING.isdisjoint(branch):
                continue  # only a condition, such as which of the properties are required together
            joined = _joined(around, branch) if says_more else branch
            found.append(self.type(joined, place.below(key, number)))
        if len(listed(schema, key)) > MAX_BRANCHES:
            found.append(self._cut(f"has more than {MAX_BRANCHES} alternatives", place))
        return union_of(found) if found else None

    # -- by type

    def _by_type(self, schema: Schema, place: _Place) -> TypeExpr:
        return union_of(self._of_type(name, schema, place) for name in _type_names(schema))

    def _of_type(self, name: str, schema: Schema, place: _Place) -> TypeExpr:
        if name == "object":
            return self._object(schema, place)
        if name == "array":
            found = self._array(schema, place)
        elif name in _NAMES:
            found = Primitive(_NAMES[name])
        else:
            return self._unread(f"has the unknown type {name[:SHOWN_CHARACTERS]!r}", place)
        if found == ANY and schema.get("not") in ({}, True):
            return NEVER
        return with_conditions(found, schema)

    def _array(self, schema: Schema, place: _Place) -> TypeExpr:
        items, prefix = schema.get("items"), schema.get("prefixItems")
        if isinstance(items, list):
            # How older drafts wrote a tuple.
            items, prefix = schema.get("additionalItems"), items
        if not isinstance(prefix, list) or not prefix:
            return Vector(ANY if items is None else self.type(items, place.below("items")))
        found = [self.type(item, place.below("prefixItems", number)) for number, item in enumerate(prefix)]
        if isinstance(items, Mapping) and items:
            return Vector(union_of((*found, self.type(items, place.below("items")))))
        return Tuple(tuple(found))

    def _object(self, schema: Schema, place: _Place) -> TypeExpr:
        rest = self._rest(schema, place)
        entries = tuple(self._entries(schema, place))
        if entries or rest is None or rest == NEVER:
            return Map(entries, rest)
        return MapOf(STRING, rest)

    def _entries(self, schema: Schema, place: _Place) -> Iterator[Entry]:
        properties, required = schema.get("properties"), schema.get("required")
        needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        for name, value in properties.items() if isinstance(properties, Mapping) else ():
            key = str(name)
            found = self.type(value, place.below("properties", key))
            yield Entry(key, found, key not in needed, description(value, self._root))

    def _rest(self, schema: Schema, place: _Place) -> TypeExpr | None:
        """The type of the keys that are not listed; one that may be anything is not worth a word."""
        given = {"additionalProperties": schema.get("additionalProperties")}
        patterns = schema.get("patternProperties")
        if isinstance(patterns, Mapping):
            given |= {f"patternProperties/{pattern}": value for pattern, value in patterns.items()}
        told = {key: value for key, value in given.items() if isinstance(value, Mapping) and value}
        if not told:
            return NEVER if given["additionalProperties"] is False else None
        found = union_of(self.type(value, place.below(key)) for key, value in told.items())
        return None if found == ANY else found

    # -- limits and warnings

    def _afford(self, work: int) -> bool:
        self._work_left -= work
        return self._work_left >= 0

    def _cut(self, reason: str, place: _Place) -> TypeExpr:
        self._warn(reason, place)
        return CUT

    def _unread(self, reason: str, place: _Place) -> TypeExpr:
        self._warn(reason, place)
        return ANY

    def _warn(self, reason: str, place: _Place) -> None:
        if len(self.warnings) < MAX_WARNINGS:
            path = place.path if len(place.path) <= SHOWN_CHARACTERS else f"…{place.path[-SHOWN_CHARACTERS:]}"
            self.warnings[f"{path or 'the schema'} {reason}"] = None


def _type_names(schema: Schema) -> list[str]:
    given = schema.get("type")
    names = [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]
    if names:
        return names
    if any(isinstance(schema.get(key), Mapping) for key in ("properties", "additionalProperties", "patternProperties")):
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else ["any"]


def _joined(around: Schema, branch: Any) -> Any:
    """An alternative together with what stands beside all of them; its own type counts."""
    if not isinstance(branch, Mapping):
        return branch
    outer = {key: value for key, value in around.items() if key not in {"type", "nullable"} or key not in branch}
    return {"allOf": [outer, branch]}
