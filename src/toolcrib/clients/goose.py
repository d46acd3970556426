"""Goose: `extensions`; secrets are named by `env_keys` and come from the environment here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolcrib.clients import own_entry
from toolcrib.clients.client import Client
from toolcrib.clients.dialects import Ours, dialect, hidden, literal, reference
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.sections import Entry, Manner, OpenedFile, Section, each_entry, map_of, texts_of
from toolcrib.model.server import BUILT_IN_SERVER

_KEY = "extensions"
_MANNER = Manner(literal, keys={"cmd": "command", "uri": "url", "available_tools": "allowTools"})
_OF_GOOSE_ITSELF = ("builtin", "platform", "frontend", "inline_python")
_REFERENCE = r"\$(?:\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))"


def _places(machine: Machine) -> Places:
    if root := machine.env.get("GOOSE_PATH_ROOT"):
        return (Path(root) / "config" / "config.yaml",)
    of_windows = machine.app_config / "Block" / "goose" / "config"
    folder = of_windows if machine.system == "win32" else machine.dot_config / "goose"
    return (folder / "config.yaml",)


def _sections(file: OpenedFile) -> Iterator[Section]:
    """The extensions that are MCP servers; those inside Goose are named in a warning when they are in use."""
    entries = file.document.get(_KEY)
    if isinstance(entries, Mapping):
        inside = {name for name, entry in entries.items() if map_of(entry).get("type") in _OF_GOOSE_ITSELF}
        in_use = [name for name in entries if name in inside and entries[name].get("enabled") is not False]
        if in_use:
            file.warn(_KEY, f"extensions that run inside Goose are not imported: {', '.join(in_use)}")
        entries = {name: entry for name, entry in entries.items() if name not in inside}
    yield Section(_KEY, each_entry(entries, _in_full), _MANNER)


def _in_full(entry: Entry) -> Entry:
    secrets = {name: reference(name) for name in texts_of(entry.get("env_keys"))}
    plain = entry.get("envs")
    values = {**secrets, **{name: value for name, value in map_of(plain).items() if isinstance(value, str)}}
    full = {**entry, "env": {**secrets, **plain} if isinstance(plain, Mapping) else plain or secrets}
    if isinstance(headers := entry.get("headers"), Mapping):
        full["headers"] = {name: _filled(value, values) for name, value in headers.items()}
    # An empty list is how Goose says "all of them".
    return full if entry.get("available_tools") else {**full, "available_tools": None}


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """A header with its references to the entry's own variables replaced; others stay as text."""
    if not isinstance(value, str):
        return value

    def ours(match: re.Match[str]) -> str | None:
        found = values.get(match["braced"] or match["bare"])
        return found if found is None or isinstance(found, Ours) else hidden(found)

    return Ours(dialect(_REFERENCE, ours)(value))


def _entry(launch: own_entry.OwnLaunch) -> own_entry.Entry:
    return {
        "type": "stdio",
        "name": BUILT_IN_SERVER,
        "cmd": launch.command,
        "args": list(launch.args),
        "envs": dict(launch.env),
        "enabled": True,
        "timeout": 300,
    }


GOOSE = Client(
    "goose",
    "Goose",
    places=_places,
    sections=_sections,
    containers=((_KEY,),),
    language="yaml",
    shape=_entry,
    environment=own_entry.WHOLE,
)
