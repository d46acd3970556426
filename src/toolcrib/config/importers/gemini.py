"""Gemini CLI: `httpUrl` is the new transport and `url` the old one; servers are switched off by name under `mcp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.clients.dialects import BARE_OR_BRACES
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import Entry, EntryImport, Manner, is_map, map_of, texts_of
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(
    dialect=BARE_OR_BRACES,
    keys={"includeTools": "allowTools", "excludeTools": "denyTools"},
    url_means="sse",
    milliseconds=True,
)


def read_gemini(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file, those that are excluded or not allowed switched off."""
    if not is_map(document, origin, findings):
        return []
    section = document.get("mcpServers")
    if isinstance(section, Mapping):
        is_on = _switch(document)
        section = {
            name: {**_with_one_address(entry), "enabled": is_on(name)} if isinstance(entry, Mapping) else entry
            for name, entry in section.items()
        }
    return EntryImport(_MANNER, "mcpServers", origin, findings).specs(section)


def _switch(document: Entry) -> Any:
    chosen = map_of(document.get("mcp"))
    allowed = chosen.get("allowed", document.get("allowMCPServers"))
    excluded = texts_of(chosen.get("excluded", document.get("excludeMCPServers")))
    return lambda name: name not in excluded and (not isinstance(allowed, list) or name in allowed)


def _with_one_address(entry: Entry) -> Entry:
    """`httpUrl` counts before `url`, and `url` before `command`."""
    ours = {**entry}
    if entry.get("httpUrl"):
        ours |= {"url": entry["httpUrl"], "type": "http"}
    if ours.get("url"):
        ours.pop("command", None)
    for key in ("includeTools", "excludeTools"):
        if isinstance(names := entry.get(key), list):
            # A name may be followed by a pattern for its arguments.
            ours[key] = [name.partition("(")[0] if isinstance(name, str) else name for name in names]
    return ours
