"""Whether a capability may take the place of the one registered under its id."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolcrib.ccos.manifest import Manifest
from toolcrib.rtfs.types import ANY, Map, TypeExpr

Version = tuple[int, int, int]

_VERSION = re.compile(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+].*)?")


def version_of(text: str) -> Version | None:
    """The three numbers of a version; None where it is none."""
    found = _VERSION.fullmatch(text.strip())
    return None if found is None else (int(found[1]), int(found[2] or 0), int(found[3] or 0))


def objections(old: Manifest, new: Manifest) -> list[str]:
    """Why `new` can't simply replace `old`; nothing where all who use the old one can go on."""
    return [*_of_versions(old, new), *_of_provider(old, new), *_of_types(old, new), *_of_rights(old, new)]


def _of_versions(old: Manifest, new: Manifest) -> Iterator[str]:
    before, after = version_of(old.version), version_of(new.version)
    if before is None or after is None:
        if old.version != new.version:
            yield f"the versions {old.version} and {new.version} can't be compared"
    elif after < before:
        yield f"{new.version} is older than {old.version}"
    elif after[0] > before[0]:
        yield f"{new.version} is a new major version after {old.version}"


def _of_provider(old: Manifest, new: Manifest) -> Iterator[str]:
    if (old.provider.type, old.provider.server_url, old.provider.tool_name) != (
        new.provider.type,
        new.provider.server_url,
        new.provider.tool_name,
    ):
        yield "it is provided by another server or tool"


def _of_types(old: Manifest, new: Manifest) -> Iterator[str]:
    yield from _of_input(old.input_schema, new.input_schema)
    if old.output_schema is not None and new.output_schema is None:
        yield "it no longer declares its output"
    elif old.output_schema is not None and new.output_schema is not None:
        yield from _of_output(old.output_schema, new.output_schema)


def _of_input(old: TypeExpr | None, new: TypeExpr | None) -> Iterator[str]:
    """Whatever was accepted must be accepted."""
    if new in {None, ANY} or old == new:
        return
    if not isinstance(new, Map) or not isinstance(old, Map):
        if old not in {None, ANY} or not isinstance(new, Map):
            yield "the type of its input changed"
            return
        old = Map()
    before = {entry.key: entry for entry in old.entries}
    for entry in new.entries:
        known = before.pop(entry.key, None)
        if known is None and not entry.optional:
            yield f"it requires {entry.key!r}, which is new"
        elif known is not None and entry.type not in {known.type, ANY}:
            yield f"the type of {entry.key!r} changed"
        elif known is not None and known.optional and not entry.optional:
            yield f"it requires {entry.key!r}, which was optional"
    yield from (f"it no longer accepts {key!r}" for key in before)


def _of_output(old: TypeExpr, new: TypeExpr) -> Iterator[str]:
    """Whatever was given must be given."""
    if old in {ANY, new}:
        return
    if not isinstance(old, Map) or not isinstance(new, Map):
        yield "the type of its output changed"
        return
    after = {entry.key: entry for entry in new.entries}
    for entry in old.entries:
        given = after.get(entry.key)
        if given is None:
            yield f"it no longer returns {entry.key!r}"
        elif given.type != entry.type or (given.optional and not entry.optional):
            yield f"the type of {entry.key!r} in its output changed"


def _of_rights(old: Manifest, new: Manifest) -> Iterator[str]:
    for what, before, after in (
        ("effects", old.effects, new.effects),
        ("permissions", old.permissions, new.permissions),
    ):
        if added := sorted(set(after) - set(before)):
            yield f"it has new {what}: {', '.join(added)}"
