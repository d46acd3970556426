"""The border every client's entries cross: their keys, units and references become ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolcrib.clients.dialects import RUNS_A_COMMAND, Dialect, Ours, literal
from toolcrib.clients.sections import LEFT_OUT, REFERRING_KEYS, Entry, Manner, OpenedFile, SectionsOf
from toolcrib.config.diagnostics import Findings
from toolcrib.config.servers import named_entries, read_entry, read_servers
from toolcrib.config.values import join, kind_of
from toolcrib.errors import Problem
from toolcrib.model.server import Origin, ServerSpec

Importer = Callable[[Any, Origin, Findings], list[ServerSpec]]

_COMMON_KEYS: Mapping[str, str] = {
    **{key: key for key in ("command", "args", "env", "envFile", "cwd", "url", "headers", "type", "timeout")},
    **{key: key for key in ("enabled", "disabled", "description")},
    "serverUrl": "url",
    "transport": "type",
    "transportType": "type",
    "disabledTools": "denyTools",
}
_MILLISECOND = 0.001


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
        for key in (REFERRING_KEYS - self._manner.referring_keys) & ours.keys():
            ours[key] = _translated(ours[key], literal)
        if any(RUNS_A_COMMAND in text for key in REFERRING_KEYS & ours.keys() for text in _texts(ours[key])):
            self.warn(where, "needs a value that its client gets by running a command, which is not supported")
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


def importer(sections: SectionsOf) -> Importer:
    """Reads the files that have their servers in these sections."""

    def read(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
        if not is_map(document, origin, findings):
            return []
        return [
            spec
            for section in sections(_opened(document, origin, findings))
            for spec in EntryImport(section.manner, section.where, origin, findings).specs(section.entries)
        ]

    return read


def is_map(document: Any, origin: Origin, findings: Findings) -> bool:
    """Whether the file is a map as it should be; another one is refused."""
    if isinstance(document, Mapping):
        return True
    findings.refuse("", f"expected a map with servers, found {kind_of(document)}", origin.file)
    return False


def _opened(document: Entry, origin: Origin, findings: Findings) -> OpenedFile:
    def warn(where: str, message: str) -> None:
        findings.warn(str(Problem(where, message, origin.file)))

    def skip(where: str, message: str) -> None:
        findings.skip(where, message, origin.file)

    return OpenedFile(document, Path(origin.file), warn, skip)


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
