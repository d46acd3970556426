"""Zed: `context_servers` in its settings, flat or, in older files, with the command as a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.clients.dialects import literal
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import EntryImport, Manner, each_entry, is_map, map_of
from toolcrib.errors import Problem
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(dialect=literal)


def read_zed(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers people wrote themselves; those an extension of Zed brings can only be started by Zed."""
    if not is_map(document, origin, findings):
        return []
    section = document.get("context_servers")
    if isinstance(section, Mapping):
        brought = [name for name, entry in section.items() if _is_brought_by_an_extension(map_of(entry))]
        if brought:
            message = f"servers that extensions of Zed bring are not imported: {', '.join(brought)}"
            findings.warn(str(Problem("context_servers", message, origin.file)))
        section = {name: entry for name, entry in section.items() if name not in brought}
    return EntryImport(_MANNER, "context_servers", origin, findings).specs(each_entry(section, _laid_flat))


def _is_brought_by_an_extension(entry: Mapping[str, Any]) -> bool:
    return entry.get("source") == "extension" or ("settings" in entry and not {"command", "url"} & entry.keys())


def _laid_flat(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    command = entry.get("command")
    if not isinstance(command, Mapping):
        return entry
    return {**entry, **command, "command": command.get("path")}
