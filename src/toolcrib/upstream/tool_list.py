"""Reading a server's whole list of tools, resources or prompts, however long or odd it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from toolcrib.model.nesting import deeper_than
from toolcrib.model.reading import ListKind
from toolcrib.upstream.list_page import read_page
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, Json, RpcError

MAX_PAGES = 100
# Splitting and decoding a smaller page takes less than a millisecond, hardly more than the way to a thread and back.
_LARGE_PAGE_BYTES = 64 * 1024
# Decoded, a value takes up to 80 bytes however short its text is.
_BYTES_PER_VALUE = 8
_FEWEST_VALUES = 100_000
_SHOWN_CHARACTERS = 64

# What tells two entries of a list apart.
_NAMED_BY: Mapping[ListKind, str] = {
    "tools": "name",
    "prompts": "name",
    "resources": "uri",
    "templates": "uriTemplate",
}


class _Names(msgspec.Struct):
    name: str = ""
    uri: str = ""
    uriTemplate: str = ""  # noqa: N815 - as it is on the wire, and as it is given back


_decode_names = msgspec.json.Decoder(_Names).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode

FetchPage = Callable[[Mapping[str, Any]], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class ListLimits:
    """What we look at and take from one server at most; `total_bytes` are those of all definitions together."""

    tools: int = 1_000
    definition_bytes: int = 64 * 1024
    nesting: int = 64
    total_bytes: int = 4 * 1024 * 1024
    items: int = 1_000

    @property
    def values(self) -> int:
        """How many JSON values a page may hold."""
        return max(_FEWEST_VALUES, self.total_bytes // _BYTES_PER_VALUE)


@dataclass(slots=True)
class ListedItems:
    """The definitions taken, how long the server calls them fresh, and in a few lines what was left out and why."""

    kind: ListKind = "tools"
    definitions: list[Mapping[str, Any]] = field(default_factory=list)
    ttl_seconds: float | None = None
    warnings: list[str] = field(default_factory=list)
    has_failed: bool = False


async def list_all(fetch_page: FetchPage, limits: ListLimits, kind: ListKind = "tools") -> ListedItems:
    """Follow the cursors to the end, within the limits; a server that has none of the kind has an empty list.

    Raises UnreadableList for a list that we do not even try to read.
    """
    taking = _Taking(limits, ListedItems(kind))
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            text = await fetch_page({} if cursor is None else {"cursor": cursor})
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND and cursor is None:
                return taking.listed
            raise
        following = await _taken(taking, text)
        if following is None or following == cursor:
            return taking.finished(is_whole=not taking.is_cut_short)
        cursor = following
        if taking.is_full:
            break
    return taking.finished(is_whole=False)


async def _taken(taking: _Taking, text: Json) -> str | None:
    if len(text) < _LARGE_PAGE_BYTES:
        return taking.take_page(text)
    return await asyncio.to_thread(taking.take_page, text)


class _Taking:
    """Takes the entries of page after page until a limit is reached; entries that are left out count as looked at."""

    def __init__(self, limits: ListLimits, listed: ListedItems) -> None:
        self._limits = limits
        self._named_by = _NAMED_BY[listed.kind]
        self.listed = listed
        self._names: set[str] = set()
        self._looked_at = 0
        self._bytes = 0
        self._left_out: dict[str, list[str]] = {}
        self.is_cut_short = False

    @property
    def is_full(self) -> bool:
        return self._looked_at >= self._limits.tools or self._bytes >= self._limits.total_bytes

    def take_page(self, text: Json) -> str | None:
        """Take what a page offers; the cursor of the next one."""
        page = read_page(text, self.listed.kind, self._limits.values)
        if page is None:
            self.listed.warnings.append(f"a page of the list of {self.listed.kind} was not an object")
            return None
        if page.ttl_seconds is not None:
            known = self.listed.ttl_seconds
            self.listed.ttl_seconds = page.ttl_seconds if known is None else min(known, page.ttl_seconds)
        for entry in page.entries:
            if self.is_full:
                self.is_cut_short = True
                break
            self._look_at(entry)
        return page.next_cursor

    def finished(self, *, is_whole: bool) -> ListedItems:
        """All that was taken, with a word on what was not."""
        if self._left_out:
            reasons = ", ".join(_counted(reason, names) for reason, names in self._left_out.items())
            total = sum(map(len, self._left_out.values()))
            self.listed.warnings.append(f"{total} of its {self.listed.kind} left out: {reasons}")
        if not is_whole:
            self.listed.warnings.append(
                f"its list of {self.listed.kind} is longer; only the first {self._looked_at} entries were read"
            )
        return self.listed

    def _look_at(self, text: Raw) -> None:
        self._looked_at += 1
        if len(text) > self._limits.definition_bytes:
            self._leave_out(f"larger than {self._limits.definition_bytes} bytes", _named(text))
            return
        self._bytes += len(text)
        entry = _decoded(text)
        refusal = self._refusal(entry)
        if refusal:
            self._leave_out(refusal, entry)
        else:
            self._names.add(entry[self._named_by])
            self.listed.definitions.append(entry)

    def _refusal(self, entry: Mapping[str, Any]) -> str:
        """Why an entry is left out, or nothing."""
        name = entry.get(self._named_by)
        if not isinstance(name, str) or not name:
            return f"without a {self._named_by}"
        if name in self._names:
            return "listed twice"
        if deeper_than(entry, self._limits.nesting):
            return f"nested deeper than {self._limits.nesting} levels"
        return ""

    def _leave_out(self, reason: str, entry: Mapping[str, Any]) -> None:
        name = entry.get(self._named_by)
        shown = name[:_SHOWN_CHARACTERS] if isinstance(name, str) else ""
        self._left_out.setdefault(reason, []).append(shown)


def _decoded(text: Raw) -> dict[str, Any]:
    """The entry; empty where it is no object."""
    try:
        return _decode_object(text)
    except (msgspec.DecodeError, RecursionError):
        return {}


def _named(text: Raw) -> dict[str, Any]:
    """Only what tells an entry from others."""
    try:
        return {name: value for name, value in msgspec.structs.asdict(_decode_names(text)).items() if value}
    except (msgspec.DecodeError, RecursionError):
        return {}


def _counted(reason: str, names: list[str]) -> str:
    """A reason with how many entries it is about, and the first that has a name."""
    named = next((name for name in names if name), "")
    such_as = f", such as {named!r}" if named else ""
    return f"{len(names)} {reason}{such_as}"
