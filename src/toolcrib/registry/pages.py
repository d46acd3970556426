"""A registry's JSON as entries: bounded, and one bad entry costs only itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from toolcrib.errors import RegistryError
from toolcrib.registry.entry import RegistryServer
from toolcrib.registry.parse import UnfitEntry, parse_entry

MAX_ENTRY_BYTES = 64 * 1024
_LONGEST_CURSOR = 2_000
_SHOWN = 200
_MOST_ENTRIES = 1_000
# Reasons that are kept; the rest of the entries left out is only counted.
MOST_REASONS = 20


class _List(msgspec.Struct):
    servers: list[msgspec.Raw] | None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A server and the JSON text it was read from."""

    server: RegistryServer
    json: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """One answer to a list request; `skipped` says why the first of the `skipped_count` entries missing from it are."""

    entries: tuple[Listed, ...] = ()
    next_cursor: str = ""
    skipped: tuple[str, ...] = ()
    skipped_count: int = 0

    @property
    def servers(self) -> tuple[RegistryServer, ...]:
        return tuple(entry.server for entry in self.entries)


def read_page(body: bytes, registry: str) -> Page:
    """A list answer; RegistryError where it is none."""
    try:
        listed = msgspec.json.decode(body, type=_List)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise _not_a_list(registry, str(problem)) from None
    items = listed.servers or ()
    if len(items) > _MOST_ENTRIES:
        raise RegistryError(f"a page of its list has more than {_MOST_ENTRIES} entries", registry=registry)
    entries, skipped = _read_entries(items, registry)
    cursor = (listed.metadata or {}).get("nextCursor") or (listed.metadata or {}).get("next_cursor") or ""
    if not isinstance(cursor, str) or len(cursor) > _LONGEST_CURSOR:
        raise RegistryError("the cursor of its list can't be used", registry=registry)
    return Page(tuple(entries), cursor, tuple(skipped[:MOST_REASONS]), len(skipped))


def read_one(body: bytes, registry: str) -> RegistryServer:
    """The answer for one server."""
    if len(body) > MAX_ENTRY_BYTES:
        raise RegistryError(f"the entry is larger than {MAX_ENTRY_BYTES} bytes", registry=registry)
    try:
        return _entry(body, registry)
    except UnfitEntry as reason:
        raise RegistryError(f"the entry can't be used: {reason}", registry=registry) from None


def _read_entries(items: Iterable[msgspec.Raw], registry: str) -> tuple[list[Listed], list[str]]:
    entries, skipped = [], []
    for number, item in enumerate(items, start=1):
        text = bytes(item)
        try:
            if len(text) > MAX_ENTRY_BYTES:
                raise UnfitEntry(f"it is larger than {MAX_ENTRY_BYTES} bytes")
            entries.append(Listed(_entry(text, registry), text))
        except UnfitEntry as reason:
            skipped.append(f"entry {number} is left out: {reason}")
    return entries, skipped


def _entry(text: bytes, registry: str) -> RegistryServer:
    try:
        return parse_entry(msgspec.json.decode(text), registry=registry)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise UnfitEntry("it is not JSON") from None


def _not_a_list(registry: str, problem: str) -> RegistryError:
    return RegistryError(
        f"its answer is not a list of servers ({problem[:_SHOWN]})",
        registry=registry,
        hint="Check the address in registry.urls: it must speak the registry API v0.1.",
    )
