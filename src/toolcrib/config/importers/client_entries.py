"""The border every client's entries cross: their keys, units and references become ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from toolcrib.clients.dialects import RUNS_A_COMMAND, Dialect, Ours, as_it_is, literal
from toolcrib.config.diagnostics import Findings
from toolcrib.config.servers import named_entries, read_entry, read_servers
from toolcrib.config.values import join, kind_of
from toolcrib.errors import Problem
from toolcrib.model.server import Origin, ServerSpec, Transport

Entry = Mapping[str, Any]
Importer = Callable[[Any, Origin, Findings], list[ServerSpec]]

_COMMON_KEYS: Mapping[str, str] = {
    **{key: key for key in ("command", "args", "env", "envFile", "cwd", "url", "headers", "type", "timeout")},
    **{key: key for key in ("enabled", "disabled", "description")},
    "serverUrl": "url",
    "transport": "type",
    "transportType": "type",
    "disabledTools": "denyTools",
}
_REFERRING_KEYS = frozenset(("command", "args", "env", "envFile", "cwd", "url", "headers"))
_MILLISECOND = 0.001
# Put in the place of an entry that is not ours to read, so that the others keep their places.
LEFT_OUT: Entry = {}


@dataclass(frozen=True, slots=True)
class Manner:
    """How one client writes its entries, where that differs from what most do."""

    dialect: Dialect = as_it_is
    referring_keys: frozenset[str] = _REFERRING_KEYS
    keys: Mapping[str, str] = field(default_factory=dict)
    url_means: Transport | None = None
    milliseconds: bool = False
    # Keys that ask for something we do not do, with what that is.
    unsupported: Mapping[str, str] = field(default_factory=dict)


class EntryImport:
    """Reads the entries of one section in one client's manner."""

    def __init__(self, manner: Manner, where: str, origin: Origin, findings: Findings) -> None:
        self._manner = manner
        self._where = where
        self._origin = origin
        self._findings = findings

    def specs(self, section: Any) -> list[ServerSpec]:
        """Every usable entry of a map by name, or of a list of entries with names."""
        if not isinstance(section, list | Mapping):
            return read_servers(section, self._where, self._origin, self._findings)
        read = (self._spec(name, entry, place) for name, entry, place in named_entries(section, self._where))
        return [spec for spec in read if spec is not None]

    def warn(self, where: str, message: str) -> None:
        self._findings.warn(str(Problem(where, message, self._origin.file)))

    def _spec(self, name: Any, entry: Any, place: str) -> ServerSpec | None:
        if entry is LEFT_OUT:
            return None
        if isinstance(entry, str):
            # Only in our own files a text is a short form of an entry.
            self._findings.skip(place, "expected a server entry, found text", self._origin.file)
            return None
        own = Findings()
        ours = self._ours(entry, place) if isinstance(entry, Mapping) else entry
        spec = read_entry(name, ours, place, self._origin, own)
        self._findings.problems.extend(
            replace(found, where=self._in_their_words(found.where)) for found in own.problems
        )
        self._findings.warn(*own.warnings)
        return spec

    def _ours(self, entry: Entry, where: str) -> dict[str, Any]:
        for key, purpose in self._manner.unsupported.items():
            if entry.get(key):
                self.warn(join(where, key), f"{purpose}, which is not supported; the server is imported without it")
        ours = self._renamed(entry)
        self._take_seconds(ours, where)
        self._state_transport(ours)
        for key in self._manner.referring_keys & ours.keys():
            ours[key] = _translated(ours[key], self._manner.dialect)
        for key in (_REFERRING_KEYS - self._manner.referring_keys) & ours.keys():
            ours[key] = _translated(ours[key], literal)
        if any(RUNS_A_COMMAND in text for key in _REFERRING_KEYS & ours.keys() for text in _texts(ours[key])):
            self.warn(where, "needs a value that its client gets by running a command; that is not done here")
        return ours

    def _renamed(self, entry: Entry) -> dict[str, Any]:
        ours: dict[str, Any] = {}
        for key, value in entry.items():
            name = self._manner.keys.get(key, _COMMON_KEYS.get(key))
            if name and value is not None and value != "":
                ours.setdefault(name, value)
        return ours

    def _take_seconds(self, ours: dict[str, Any], where: str) -> None:
        for key in ("timeout", "startupTimeout"):
            value = ours.pop(key, None)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                found = f"{value}" if isinstance(value, int | float) else kind_of(value)
                place = self._in_their_words(join(where, key))
                self.warn(place, f"expected a number above 0, found {found}; it is not used")
                continue
            ours[key] = value * _MILLISECOND if self._manner.milliseconds else value

    def _state_transport(self, ours: dict[str, Any]) -> None:
        url = ours.get("url")
        is_stated = "type" in ours and ours["type"] != "remote"
        if is_stated or "command" in ours or not isinstance(url, str):
            return
        # Clients that are not told try one transport and then the other; so do we, where no type is stated.
        ours.pop("type", None)
        if self._manner.url_means is not None:
            ours["type"] = self._manner.url_means

    def _in_their_words(self, where: str) -> str:
        """A place in the file with its key named as the client's file names it."""
        for theirs, ours in self._manner.keys.items():
            before, found, after = where.rpartition(f".{ours}")
            if found and len(before) > len(self._where) and not after[:1].isalnum():
                return f"{before}.{theirs}{after}"
        return where


def mcp_servers_importer(manner: Manner, change: Callable[[Entry], Entry] | None = None) -> Importer:
    """An importer of the `mcpServers` family, with what is special about one member."""

    def read(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
        if not is_map(document, origin, findings):
            return []
        where, section = servers_section(document)
        return EntryImport(manner, where, origin, findings).specs(each_entry(section, change) if change else section)

    return read


def is_map(document: Any, origin: Origin, findings: Findings) -> bool:
    """Whether the file is a map as it should be; another one is refused."""
    if isinstance(document, Mapping):
        return True
    findings.refuse("", f"expected a map with servers, found {kind_of(document)}", origin.file)
    return False


def servers_section(document: Entry) -> tuple[str, Any]:
    """Where in the document the servers are: under a known key, or the document itself is the map."""
    for key in ("mcpServers", "servers"):
        if key in document:
            return key, document[key]
    mcp = document.get("mcp")
    if isinstance(mcp, Mapping) and "servers" in mcp:
        return "mcp.servers", mcp["servers"]
    return ("", document) if _is_bare_map(document) else ("mcpServers", None)


def each_entry(section: Any, change: Callable[[Entry], Entry]) -> Any:
    """The section with every entry changed; what is no entry is left for the reader to report."""
    if isinstance(section, list):
        return [change(entry) if isinstance(entry, Mapping) else entry for entry in section]
    if not isinstance(section, Mapping):
        return section
    return {name: change(entry) if isinstance(entry, Mapping) else entry for name, entry in section.items()}


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


def _translated(value: Any, dialect: Dialect) -> Any:
    if isinstance(value, Ours):
        return str(value)
    if isinstance(value, str):
        return dialect(value)
    if isinstance(value, list):
        return [_translated(item, dialect) for item in value]
    if isinstance(value, Mapping):
        return {key: _translated(item, dialect) for key, item in value.items()}
    return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | Mapping):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
