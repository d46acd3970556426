"""One schema out of several: its local reference followed, the parts of its `allOf` joined with what stands beside them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from toolcrib.schema.shape import MAX_HOPS, Schema, listed, target

MAX_PARTS = 32


class RefersToItself(Exception):
    """A reference that is being followed already."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The joined schema; which references led to it, which led nowhere, and what joining it cost."""

    schema: Schema
    references: frozenset[str]
    unresolved: tuple[str, ...]
    cost: int


def merge_parts(schema: Schema, root: Any, followed: AbstractSet[str]) -> Merged:
    """The schema without `$ref` and `allOf`; raises RefersToItself for one of the references `followed`."""
    merge = _Merge(root, followed)
    whole = merge.whole(schema, ())
    return Merged(whole, frozenset(merge.references), tuple(merge.unresolved), merge.cost)


class _Merge:
    def __init__(self, root: Any, followed: AbstractSet[str]) -> None:
        self._root = root
        self._followed = followed
        self._parts_left = MAX_PARTS
        self.references: set[str] = set()
        self.unresolved: list[str] = []
        self.cost = 0

    def whole(self, schema: Schema, way: tuple[str, ...]) -> Schema:
        """The schema joined with its parts; `way` is how we came to it."""
        parts = self._parts(schema, way) if len(way) < MAX_HOPS else []
        if not parts and "$ref" not in schema and "allOf" not in schema:
            return schema
        own = {key: value for key, value in schema.items() if key not in {"$ref", "allOf"}}
        return self._joined(own, [self.whole(part, (*way, str(schema.get("$ref")))) for part in parts])

    def _parts(self, schema: Schema, way: tuple[str, ...]) -> list[Schema]:
        reference = schema.get("$ref")
        found = [self._target(reference, way)] if isinstance(reference, str) else []
        found += listed(schema, "allOf")[: self._parts_left]
        self._parts_left -= len(found)
        return [part for part in found if isinstance(part, Mapping)]

    def _target(self, reference: str, way: tuple[str, ...]) -> Any:
        if reference in self._followed:
            raise RefersToItself
        found = target(reference, self._root)
        if reference in way or not isinstance(found, (Mapping, bool)):
            self.unresolved.append(reference)
            return None
        self.references.add(reference)
        return found

    def _joined(self, own: dict[str, Any], parts: list[Schema]) -> Schema:
        """What stands beside the parts counts most, then the parts in their order; members of objects are gathered."""
        joined = dict(own)
        for part in parts:
            self.cost += 1 + len(part) // 4
            for key, value in part.items():
                joined.setdefault(key, value)
        properties: dict[str, Any] = {}
        required: list[Any] = []
        for part in (*parts, own):
            members = part.get("properties")
            properties |= members if isinstance(members, Mapping) else {}
            required += listed(part, "required")
            self.cost += (len(properties) + len(required)) // 4
        gathered = {"properties": properties, "required": required}
        return joined | {key: value for key, value in gathered.items() if value}
