"""Reading a server's whole list of tools, resources or prompts, however long or odd it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolcrib.model.nesting import deeper_than
from toolcrib.model.reading import ListKind
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, Json, RpcError

MAX_PAGES = 100

# What tells two entries of a list apart.
_NAMED_BY: Mapping[ListKind, str] = {"tools": "name", "resources": "uri", "prompts": "name"}

FetchPage = Callable[[Mapping[str, Any]], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class ListLimits:
    """What we take from one server at most."""

    tools: int = 1_000
    definition_bytes: int = 64 * 1024
    nesting: int = 64


@dataclass(slots=True)
class ListedItems:
    """The definitions taken, how long the server calls them fresh, and what was left out and why."""

    kind: ListKind = "tools"
    definitions: list[Mapping[str, Any]] = field(default_factory=list)
    ttl_seconds: float | None = None
    warnings: list[str] = field(default_factory=list)


async def list_all(fetch_page: FetchPage, limits: ListLimits, kind: ListKind = "tools") -> ListedItems:
    """Follow the cursors to the end, within the limits; a server that has none of the kind has an empty list."""
    listed = ListedItems(kind)
    names: set[str] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = msgspec.json.decode(await fetch_page({} if cursor is None else {"cursor": cursor}))
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND and cursor is None:
                return listed
            raise
        _take_page(page, listed, names, limits)
        following = page.get("nextCursor") if isinstance(page, dict) else None
        if not isinstance(following, str) or following == cursor:
            return listed
        cursor = following
        if len(listed.definitions) >= limits.tools:
            break
    listed.warnings.append(f"the list goes on; only the first {len(listed.definitions)} {kind} were taken")
    return listed


def _take_page(page: object, listed: ListedItems, names: set[str], limits: ListLimits) -> None:
    if not isinstance(page, dict):
        listed.warnings.append(f"a page of the list of {listed.kind} was not an object")
        return
    ttl = page.get("ttlMs")
    if isinstance(ttl, int | float) and not isinstance(ttl, bool):
        seconds = max(0.0, ttl / 1000)
        listed.ttl_seconds = seconds if listed.ttl_seconds is None else min(seconds, listed.ttl_seconds)
    entries = page.get(listed.kind)
    for entry in entries if isinstance(entries, list) else []:
        name = entry.get(_NAMED_BY[listed.kind]) if isinstance(entry, dict) else None
        problem = _refusal(entry, name, names, listed, limits)
        if problem:
            listed.warnings.append(problem)
        else:
            names.add(str(name))
            listed.definitions.append(entry)


def _refusal(entry: object, name: object, names: set[str], listed: ListedItems, limits: ListLimits) -> str:
    """Why an entry is left out, or nothing."""
    if not isinstance(name, str) or not name:
        return f"an entry without a {_NAMED_BY[listed.kind]} was skipped"
    if name in names:
        return f"{name!r} is listed twice; the first is used"
    if len(listed.definitions) >= limits.tools:
        return f"{name!r} is beyond the limit of {limits.tools} {listed.kind} a server"
    if len(msgspec.json.encode(entry)) > limits.definition_bytes:
        return f"the definition of {name!r} is larger than {limits.definition_bytes} bytes"
    if deeper_than(entry, limits.nesting):
        return f"the definition of {name!r} is nested deeper than {limits.nesting} levels"
    return ""
