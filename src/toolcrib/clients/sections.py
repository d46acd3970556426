"""Where in a client's file its servers are, and in which words it writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcrib.clients.dialects import Dialect, as_it_is
from toolcrib.model.server import Transport

Entry = Mapping[str, Any]
ChangeEntry = Callable[[Entry], Entry]
# Takes a place in the file and a warning about it.
Remark = Callable[[str, str], None]

REFERRING_KEYS = frozenset(("command", "args", "env", "envFile", "cwd", "url", "headers"))
# Put in the place of an entry that is not ours to read, so that the others keep their places.
LEFT_OUT: Entry = {}


@dataclass(frozen=True, slots=True)
class Manner:
    """How one client writes its entries, where that differs from what most do."""

    dialect: Dialect = as_it_is
    referring_keys: frozenset[str] = REFERRING_KEYS
    keys: Mapping[str, str] = field(default_factory=dict)
    url_means: Transport | None = None
    milliseconds: bool = False
    # Keys that ask for something we do not do, with what that is.
    unsupported: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A client's file as plain data, and where warnings about it go."""

    document: Entry
    path: Path
    # About what is left out and costs nothing.
    warn: Remark
    # About an entry that cannot be used.
    skip: Remark


@dataclass(frozen=True, slots=True)
class Section:
    """Entries, as a map by name or a list, and where in the file they are."""

    where: str
    entries: Any
    manner: Manner


SectionsOf = Callable[[OpenedFile], Iterable[Section]]


def mcp_servers(manner: Manner, change: ChangeEntry | None = None) -> SectionsOf:
    """The one section of a file of the `mcpServers` family, with what is special about one member."""

    def sections(file: OpenedFile) -> Iterator[Section]:
        where, entries = servers_section(file.document)
        yield Section(where, each_entry(entries, change) if change else entries, manner)

    return sections


def under(key: str, manner: Manner) -> SectionsOf:
    """The one section of a file that has its servers under this key and nowhere else."""

    def sections(file: OpenedFile) -> Iterator[Section]:
        yield Section(key, file.document.get(key), manner)

    return sections


def servers_section(document: Entry) -> tuple[str, Any]:
    """Where in the document the servers are: under a known key, or the document itself is the map."""
    for key in ("mcpServers", "servers"):
        if key in document:
            return key, document[key]
    mcp = document.get("mcp")
    if isinstance(mcp, Mapping) and "servers" in mcp:
        return "mcp.servers", mcp["servers"]
    return ("", document) if _is_bare_map(document) else ("mcpServers", None)


def each_entry(entries: Any, change: ChangeEntry) -> Any:
    """The section with every entry changed; what is no entry is left for the reader to report."""
    if isinstance(entries, list):
        return [change(entry) if isinstance(entry, Mapping) else entry for entry in entries]
    if not isinstance(entries, Mapping):
        return entries
    return {name: change(entry) if isinstance(entry, Mapping) else entry for name, entry in entries.items()}


def map_of(value: Any) -> Entry:
    """The value if it is a map, else an empty one: for keys that may be left out or be of another kind."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def texts_of(value: Any) -> list[str]:
    """The texts in a list."""
    return [item for item in list_of(value) if isinstance(item, str)]


def _is_bare_map(document: Entry) -> bool:
    return bool(document) and all(
        isinstance(entry, Mapping) and any(key in entry for key in ("command", "url", "serverUrl"))
        for entry in document.values()
    )
