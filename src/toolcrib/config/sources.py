"""Servers from the files of other programs. A new kind of source is one importer and one line of `SOURCE_TYPES`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcrib.config.documents import MAX_FILE_BYTES, is_there, parse_document, read_bytes
from toolcrib.config.findings import Findings
from toolcrib.config.importers.custom_yaml import read_custom
from toolcrib.config.importers.mcp_servers_json import read_mcp_servers, read_mcp_servers_with_milliseconds
from toolcrib.config.names import did_you_mean
from toolcrib.config.settings import Source, SourceState
from toolcrib.config.values import Reader, join, kind_of
from toolcrib.errors import ConfigurationError
from toolcrib.model.server import Origin, ServerSpec

Importer = Callable[[Any, Origin, Findings], list[ServerSpec]]


@dataclass(frozen=True, slots=True)
class Machine:
    """Where programs keep their files on this machine."""

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    system: str = sys.platform

    @property
    def app_config(self) -> Path:
        """The folder in which desktop programs keep their settings."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return Path(self.env.get("APPDATA") or self.home / "AppData" / "Roaming")
        return Path(self.env.get("XDG_CONFIG_HOME") or self.home / ".config")


@dataclass(frozen=True, slots=True)
class SourceType:
    """One kind of file: how it is read, and where its owner keeps it (the first that exists is taken)."""

    read: Importer
    places: Callable[[Machine], tuple[Path, ...]] = lambda _: ()
    max_bytes: int = MAX_FILE_BYTES


def _claude_desktop(machine: Machine) -> tuple[Path, ...]:
    file = "claude_desktop_config.json"
    return (machine.app_config / "Claude" / file, machine.app_config / "claude" / file)


def _claude_code(machine: Machine) -> tuple[Path, ...]:
    return (Path(machine.env.get("CLAUDE_CONFIG_DIR") or machine.home) / ".claude.json",)


def _windsurf(machine: Machine) -> tuple[Path, ...]:
    codeium = machine.home / ".codeium"
    return (
        codeium / "windsurf" / "mcp_config.json",
        machine.home / ".windsurf" / "mcp.json",
        codeium / "mcp_config.json",
    )


SOURCE_TYPES: Mapping[str, SourceType] = {
    "claude-desktop": SourceType(read_mcp_servers, _claude_desktop),
    # Its file also holds the history of all conversations.
    "claude-code": SourceType(read_mcp_servers_with_milliseconds, _claude_code, max_bytes=64 * 1024 * 1024),
    "cursor": SourceType(read_mcp_servers, lambda machine: (machine.home / ".cursor" / "mcp.json",)),
    "windsurf": SourceType(read_mcp_servers, _windsurf),
    "docker-mcp": SourceType(read_mcp_servers, lambda machine: (machine.home / ".docker" / "mcp-servers.json",)),
    "mcp-json": SourceType(read_mcp_servers),
    "custom": SourceType(read_custom),
}
AUTO = "auto"


@dataclass(slots=True)
class Imported:
    """What all sources gave, and every file that was looked for."""

    specs: list[ServerSpec] = field(default_factory=list)
    states: list[SourceState] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def auto_sources() -> tuple[Source, ...]:
    """Every kind of source whose owner keeps its file in a known place."""
    nowhere = Machine(Path())
    return tuple(Source(name) for name, kind in SOURCE_TYPES.items() if kind.places(nowhere))


def read_source_list(value: Any, where: str, source: str, findings: Findings) -> tuple[Source, ...]:
    """The `sources` section: `auto`, or a list of types and paths; a bad item costs itself alone."""
    if value is None:
        return ()
    if value == AUTO:
        return auto_sources()
    if not isinstance(value, list):
        findings.refuse(where, f"expected auto or a list of sources, found {kind_of(value)}", source)
        return ()
    items = (_read_item(item, join(where, index), source, findings) for index, item in enumerate(value))
    return tuple(item for found in items for item in found)


def import_sources(
    sources: Iterable[Source],
    machine: Machine,
    folder: Path,
    may_read: Callable[[Path, bytes], bool],
    findings: Findings,
) -> Imported:
    """Read every source; relative paths are meant from `folder`, and `may_read` can refuse such a file."""
    imported = Imported()
    for source in sources:
        kind = SOURCE_TYPES[source.type]
        places = (_expanded(source.path, machine, folder),) if source.path else kind.places(machine)
        imported.files.extend(places)
        file = next((place for place in places if is_there(place)), places[0])
        asks = (
            may_read
            if source.path and not source.path.startswith("~") and not Path(source.path).is_absolute()
            else None
        )
        specs, state = _import_file(source.type, kind, file, asks, findings)
        imported.specs.extend(specs)
        imported.states.append(state)
    return imported


def _read_item(item: Any, where: str, source: str, findings: Findings) -> list[Source]:
    reader = Reader(
        {"type": item} if isinstance(item, str) else item if isinstance(item, Mapping) else {}, where, source
    )
    kind, path = reader.text("type"), reader.text("path")
    if kind == AUTO:
        return list(auto_sources())
    if kind is None and not reader.problems:
        reader.expected("type", "a type of source", item if not isinstance(item, Mapping) else None)
    elif kind is not None and kind not in SOURCE_TYPES:
        known = ", ".join(SOURCE_TYPES)
        reader.fail("type", f"expected one of {known}, found '{kind}'{did_you_mean(kind, SOURCE_TYPES)}")
    elif kind is not None and not path and not reader.problems and not SOURCE_TYPES[kind].places(Machine(Path())):
        reader.expected("path", "a path, this type has no usual place", path)
    findings.problems.extend(reader.problems)
    return [] if reader.problems or kind is None else [Source(kind, path)]


def _import_file(
    name: str, kind: SourceType, file: Path, may_read: Callable[[Path, bytes], bool] | None, findings: Findings
) -> tuple[list[ServerSpec], SourceState]:
    if not is_there(file):
        return [], SourceState(name, str(file), "missing")
    own = Findings()
    try:
        content = read_bytes(file, kind.max_bytes)
        if may_read and not may_read(file, content):
            findings.warn(f"{file} is not read until it is trusted: look at it, then run `toolcrib trust {file}`")
            return [], SourceState(name, str(file), "untrusted")
        specs = kind.read(parse_document(content, file), Origin(name, str(file)), own)
    except ConfigurationError as error:
        specs, own = [], Findings(fatal=list(error.problems))
    # What would make our own file unusable costs no more than this source here.
    findings.problems.extend([*own.fatal, *own.problems])
    findings.warn(*own.warnings)
    return specs, SourceState(name, str(file), "broken" if own.fatal else "found", len(specs))


def _expanded(path: str, machine: Machine, folder: Path) -> Path:
    if path == "~" or path.startswith(("~/", "~\\")):
        return machine.home / path[2:]
    return folder / path
