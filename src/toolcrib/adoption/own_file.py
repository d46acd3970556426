"""Our own configuration file: found, read, and changed with its comments kept."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from toolcrib.adoption.read_back import checked
from toolcrib.adoption.writes import FileWrite
from toolcrib.clients.machine import is_there
from toolcrib.config.diagnostics import Findings
from toolcrib.config.documents import parse_document, read_bytes
from toolcrib.config.find import EXTENSIONS
from toolcrib.config.names import nearest, slug
from toolcrib.config.paths import Paths, expanded, working_folder
from toolcrib.config.sections import discovery_section, server_sections
from toolcrib.config.servers import read_servers
from toolcrib.config.written_entry import entry_of
from toolcrib.edit.changes import Change, Drop, EditRefused, Place, Put, look_up
from toolcrib.edit.document import Format, edited
from toolcrib.errors import ConfigurationError, Problem, ServerNotFound, ValidationError
from toolcrib.model.server import BUILT_IN_SERVER, SERVER_NAME, Origin, ServerSpec

_LANGUAGES: Mapping[str, Format] = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}
_PROFILES = "profiles"
_FRESH_NOTE = b"# Toolcrib's own configuration; `toolcrib settings` lists everything that can be set.\n"


def own_config_path(explicit: Path | None, *, env: Mapping[str, str], home: Path, paths: Paths) -> Path:
    """The file a gateway started by a client would use: a named one, or the user's own; never a project's."""
    named = explicit or (Path(env["TOOLCRIB_CONFIG"]) if env.get("TOOLCRIB_CONFIG") else None)
    if named:
        return working_folder() / expanded(named)
    stems = (home / ".anygpt" / "mcp-discovery.config", paths.config_dir / "toolcrib")
    candidates = (stem.with_name(stem.name + extension) for stem in stems for extension in EXTENSIONS)
    return next((path for path in candidates if is_there(path)), paths.config_file)


@dataclass(frozen=True)
class OwnFile:
    """The file as it is now; `content` and `mode` are None where there is none yet."""

    path: Path
    content: bytes | None = field(repr=False)
    mode: int | None = None

    @classmethod
    def read(cls, path: Path) -> OwnFile:
        if path.suffix not in _LANGUAGES:
            known = ", ".join(_LANGUAGES)
            raise ConfigurationError([Problem("", f"cannot be edited: expected a file of one of {known}", str(path))])
        if not is_there(path):
            return cls(path, None)
        return cls(path, read_bytes(path), stat.S_IMODE(path.stat().st_mode))

    @cached_property
    def document(self) -> Mapping[str, Any]:
        document = parse_document(self.content or b"", self.path)
        if not isinstance(document, Mapping):
            raise ConfigurationError([Problem("", "expected a map of settings", str(self.path))])
        return document

    @cached_property
    def servers(self) -> dict[str, ServerSpec]:
        """Every usable server of the file by name."""
        origin = Origin(file=str(self.path))
        found = (read_servers(section, where, origin, Findings()) for where, section in server_sections(self.document))
        return {spec.name: spec for specs in found for spec in specs}

    def entry(self, name: str) -> Any:
        """What the file says about a server, or None."""
        place = self.place_of(name)
        return look_up(self.document, place) if place else None

    def place_of(self, name: str) -> Place | None:
        for where, section in server_sections(self.document):
            way = tuple(where.split("."))
            if isinstance(section, Mapping):
                found: Any = next((key for key in section if slug(key) == name), None)
            elif isinstance(section, list):
                names = [item.get("name") if isinstance(item, Mapping) else None for item in section]
                found = next((index for index, one in enumerate(names) if one and slug(str(one)) == name), None)
            else:
                continue
            if found is not None:
                return (*way, found)
        return None

    def with_servers(self, entries: Mapping[str, Mapping[str, Any]]) -> bytes:
        """The bytes with these entries added; a file that is not there yet begins with `sources: auto`."""
        if self.content is None:
            return OwnFile(self.path, self._fresh()).with_servers(entries)
        return self.edited(self._additions(entries)) if entries else self.content

    @property
    def profiles(self) -> Mapping[str, Any]:
        """What the file says about each profile."""
        _, section = discovery_section(self.document)
        found = section.get(_PROFILES) if isinstance(section, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def with_profiles(self, profiles: Mapping[str, Mapping[str, Any]]) -> bytes:
        """The bytes with these profiles; of one that is there already only what differs is written."""
        if self.content is None:
            return OwnFile(self.path, self._fresh()).with_profiles(profiles)
        return self.edited([put for name, one in profiles.items() for put in self._profile_changes(name, one)])

    def _profile_changes(self, name: str, profile: Mapping[str, Any]) -> list[Change]:
        place, there = (*self._way, _PROFILES, name), self.profiles.get(name)
        if not isinstance(there, Mapping):
            return [Put(place, dict(profile))]
        return [Put((*place, key), value) for key, value in profile.items() if there.get(key) != value]

    def without_profiles(self, names: Sequence[str]) -> bytes:
        """The bytes without these profiles; the section goes with the last of them."""
        is_all = set(names) >= set(self.profiles)
        drops = [(*self._way, _PROFILES)] if is_all else [(*self._way, _PROFILES, name) for name in names]
        return self.edited([Drop(place) for place in drops])

    def holds(self, spec: ServerSpec) -> bool:
        """Whether a file like this one would give the server back as it was put in."""
        try:
            written = OwnFile(self.path, None).with_servers({spec.name: entry_of(spec)})
            found = OwnFile(self.path, written).servers.get(spec.name)
        except ConfigurationError:
            return False
        return found is not None and entry_of(found) == entry_of(spec) and found.launch == spec.launch

    def without_servers(self, names: Sequence[str]) -> bytes:
        places = [place for name in names if (place := self.place_of(name))]
        # From the end, so that the numbers of list items before stay true.
        return self.edited([Drop(place) for place in sorted(places, key=_number, reverse=True)])

    def with_enabled(self, name: str, enabled: bool) -> bytes:
        place = self.place_of(name)
        if place is None:
            raise self.unknown(name)
        entry = look_up(self.document, place)
        if isinstance(entry, str):
            return self.edited([Put(place, {"connection": entry, "enabled": enabled})])
        changes: list[Change] = [Drop((*place, "disabled"))] if "disabled" in entry else []
        key = "enabled" if "enabled" in entry or not enabled else None
        return self.edited([*changes, Put((*place, key), enabled)] if key else changes)

    def rewritten(self, after: bytes | None, mode: int | None = None) -> FileWrite:
        """The step that gives the file these bytes; without a mode it keeps the one it has."""
        return FileWrite(self.path, self.content, after, mode, self.mode)

    def unknown(self, name: str) -> ServerNotFound:
        close = nearest(name, self.servers)
        hint = f"Servers there: {', '.join(self.servers) or 'none'}"
        return ServerNotFound(f"no server '{name}' in {self.path}", hint=hint, nearest=[close] if close else [])

    def edited(self, changes: Sequence[Change]) -> bytes:
        """The bytes after the changes, which were read back as a gateway would read them."""
        try:
            return checked(edited(self.content or b"", self._language, changes), self.path)
        except EditRefused as refused:
            message = f"cannot be edited: {refused}"
            raise ConfigurationError([Problem("", message, str(self.path))]) from None

    @property
    def _language(self) -> Format:
        return _LANGUAGES[self.path.suffix]

    def _fresh(self) -> bytes:
        start = b"" if self._language == "json" else _FRESH_NOTE
        return edited(start, self._language, [Put(("discovery",), {"sources": "auto"})])

    @property
    def _way(self) -> Place:
        where, _ = discovery_section(self.document)
        return tuple(where.split(".")) if where else ()

    def _additions(self, entries: Mapping[str, Mapping[str, Any]]) -> list[Change]:
        where, section = discovery_section(self.document)
        way: Place = tuple(where.split(".")) if where else ()
        holder = section if isinstance(section, Mapping) else {}
        key = (
            "mcpServers" if holder.get("servers") is None and isinstance(holder.get("mcpServers"), dict) else "servers"
        )
        listed = holder.get(key)
        if isinstance(listed, list) and listed:
            many = enumerate(entries.items(), len(listed))
            # In a list an entry is called what its `name` says, which in a map is its title.
            return [
                Put((*way, key, number), {"name": name, **entry} | {"name": name}) for number, (name, entry) in many
            ]
        fresh: list[Change] = [Drop((*way, key))] if isinstance(listed, list) else []
        return [*fresh, *(Put((*way, key, name), dict(entry)) for name, entry in entries.items())]


def _number(place: Place) -> int:
    last = place[-1]
    return last if isinstance(last, int) else -1


def check_new_server(name: str, entry: Mapping[str, Any]) -> None:
    """Refuse a name that does not fit the wire, and an entry that could not be read back."""
    if not SERVER_NAME.fullmatch(name) or slug(name) != name:
        raise ValidationError(
            f"'{name}' cannot be a server's name: expected letters, digits, '.', '_' and '-', at most 64"
        )
    if name.lower() == BUILT_IN_SERVER:
        raise ValidationError(f"'{name}' is the gateway's own name: choose another")
    findings = Findings()
    read_servers({name: entry}, "", Origin(), findings)
    if findings.problems:
        raise ValidationError("; ".join(map(str, findings.problems)))
