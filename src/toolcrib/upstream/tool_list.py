"""Reading a server's whole tool list, however long or odd it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolcrib.model.nesting import deeper_than
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, Json, RpcError

MAX_PAGES = 100

FetchPage = Callable[[Mapping[str, Any]], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class ListLimits:
    """What we take from one server at most."""

    tools: int = 1_000
    definition_bytes: int = 64 * 1024
    nesting: int = 64


@dataclass(slots=True)
class ListedTools:
    """The definitions taken, how long the server calls them fresh, and what was left out and why."""

    definitions: list[Mapping[str, Any]] = field(default_factory=list)
    ttl_seconds: float | None = None
    warnings: list[str] = field(default_factory=list)


async def list_all_tools(fetch_page: FetchPage, limits: ListLimits) -> ListedTools:
    """Follow the cursors to the end, within the limits; a server without tools has an empty list."""
    listed = ListedTools()
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
    listed.warnings.append(f"the list goes on; only the first {len(listed.definitions)} tools were taken")
    return listed


def _take_page(page: object, listed: ListedTools, names: set[str], limits: ListLimits) -> None:
    if not isinstance(page, dict):
        listed.warnings.append("a page of the tool list was not an object")
        return
    ttl = page.get("ttlMs")
    if isinstance(ttl, int | float) and not isinstance(ttl, bool):
        seconds = max(0.0, ttl / 1000)
        listed.ttl_seconds = seconds if listed.ttl_seconds is None else min(seconds, listed.ttl_seconds)
    entries = page.get("tools")
    for entry in entries if isinstance(entries, list) else []:
        problem = _refusal(entry, names, len(listed.definitions), limits)
        if problem:
            listed.warnings.append(problem)
        else:
            names.add(entry["name"])
            listed.definitions.append(entry)


def _refusal(entry: object, names: set[str], taken: int, limits: ListLimits) -> str:
    """Why an entry is left out, or nothing."""
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        return "an entry without a name was skipped"
    if name in names:
        return f"{name!r} is listed twice; the first is used"
    if taken >= limits.tools:
        return f"{name!r} is beyond the limit of {limits.tools} tools a server"
    if len(msgspec.json.encode(entry)) > limits.definition_bytes:
        return f"the definition of {name!r} is larger than {limits.definition_bytes} bytes"
    if deeper_than(entry, limits.nesting):
        return f"the definition of {name!r} is nested deeper than {limits.nesting} levels"
    return ""
