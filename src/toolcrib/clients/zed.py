"""Zed: `context_servers` in its settings, flat or, in older files, with the command as a map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import literal
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.own_entry import WHOLE
from toolcrib.clients.sections import Entry, Manner, OpenedFile, Section, each_entry, map_of

_KEY = "context_servers"
_MANNER = Manner(literal)


def _places(machine: Machine) -> Places:
    folder = machine.app_config / "Zed" if machine.system == "win32" else machine.dot_config / "zed"
    return (folder / "settings.json",)


def _sections(file: OpenedFile) -> Iterator[Section]:
    """The servers people wrote themselves; those an extension of Zed brings can only be started by Zed."""
    entries = file.document.get(_KEY)
    if isinstance(entries, Mapping):
        brought = [name for name, entry in entries.items() if _is_brought_by_an_extension(map_of(entry))]
        if brought:
            file.warn(_KEY, f"servers that extensions of Zed bring are not imported: {', '.join(brought)}")
        entries = {name: entry for name, entry in entries.items() if name not in brought}
    yield Section(_KEY, each_entry(entries, _laid_flat), _MANNER)


def _is_brought_by_an_extension(entry: Entry) -> bool:
    return entry.get("source") == "extension" or ("settings" in entry and not {"command", "url"} & entry.keys())


def _laid_flat(entry: Entry) -> Entry:
    command = entry.get("command")
    if not isinstance(command, Mapping):
        return entry
    return {**entry, **command, "command": command.get("path")}


ZED = Client("zed", "Zed", places=_places, sections=_sections, containers=((_KEY,),), environment=WHOLE)
