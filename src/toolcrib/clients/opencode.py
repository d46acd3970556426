"""OpenCode: a map under `mcp`, commands as one array, `{env:NAME}` and `{file:path}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import dialect, reference
from toolcrib.clients.display import ClientDisplay
from toolcrib.clients.machine import Machine, Places, is_there
from toolcrib.clients.own_entry import WHOLE, Entry, OwnLaunch
from toolcrib.clients.sections import Manner, OpenedFile, Section, map_of

_KEY = "mcp"
_REFERENCE = r"\{(?:env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|file:(?P<path>[^{}]+))\}"


def _places(machine: Machine) -> Places:
    folder = machine.dot_config / "opencode"
    return (folder / "opencode.json", folder / "opencode.jsonc", folder / "config.json")


def _others(machine: Machine) -> Places:
    """OpenCode reads all files of its folder, and those that variables name, as one."""
    usual = _places(machine)
    main = next((place for place in usual if is_there(place)), usual[0])
    named = [Path(file) for file in (machine.env.get("OPENCODE_CONFIG"),) if file]
    if folder := machine.env.get("OPENCODE_CONFIG_DIR"):
        named += [Path(folder) / "opencode.json", Path(folder) / "opencode.jsonc"]
    return tuple(dict.fromkeys(place for place in (*usual, *named) if place != main))


def _sections(file: OpenedFile) -> Iterator[Section]:
    """An entry that says only whether it is on belongs to a server defined elsewhere."""
    manner = Manner(
        dialect(_REFERENCE, lambda match: _ours(match, file.path.parent)),
        keys={"environment": "env", "timeout": "startupTimeout"},
        milliseconds=True,
    )
    entries = file.document.get(_KEY)
    if isinstance(entries, Mapping):
        entries = {
            name: entry for name, entry in entries.items() if not (entry and map_of(entry).keys() == {"enabled"})
        }
    yield Section(_KEY, entries, manner)


def _ours(match: re.Match[str], folder: Path) -> str:
    path = match["path"]
    if not path:
        return reference(match["name"])
    return f"${{file:{path if path.startswith('~') else folder / path}}}"


def _entry(launch: OwnLaunch) -> Entry:
    entry: Entry = {"type": "local", "command": [launch.command, *launch.args], "enabled": True}
    return {**entry, "environment": dict(launch.env)} if launch.env else entry


OPENCODE = Client(
    "opencode",
    "OpenCode",
    places=_places,
    more=_others,
    merges_files=True,
    sections=_sections,
    containers=((_KEY,),),
    shape=_entry,
    environment=WHOLE,
    calls_itself="opencode",
    display=ClientDisplay("content", max_bytes=50_000, max_lines=1_990),
)
