"""Goose: `extensions`; secrets are named by `env_keys` and come from the environment here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolcrib.clients.dialects import Ours, dialect, hidden, literal, reference
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import Entry, EntryImport, Manner, each_entry, is_map, map_of, texts_of
from toolcrib.errors import Problem
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(dialect=literal, keys={"cmd": "command", "uri": "url", "available_tools": "allowTools"})
_OF_GOOSE_ITSELF = ("builtin", "platform", "frontend", "inline_python")
_REFERENCE = r"\$(?:\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))"


def read_goose(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The extensions that are MCP servers; those inside Goose are named in a warning when they are in use."""
    if not is_map(document, origin, findings):
        return []
    section = document.get("extensions")
    if isinstance(section, Mapping):
        inside = {name for name, entry in section.items() if map_of(entry).get("type") in _OF_GOOSE_ITSELF}
        in_use = [name for name in section if name in inside and section[name].get("enabled") is not False]
        if in_use:
            message = f"extensions that run inside Goose are not imported: {', '.join(in_use)}"
            findings.warn(str(Problem("extensions", message, origin.file)))
        section = {name: entry for name, entry in section.items() if name not in inside}
    return EntryImport(_MANNER, "extensions", origin, findings).specs(each_entry(section, _in_full))


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
