"""VS Code: `servers` and `inputs` in `mcp.json`; in older settings files `mcp.servers`."""

from __future__ import annotations

from typing import Any

from toolcrib.clients.dialects import EDITOR
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import EntryImport, Manner, is_map, map_of
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(dialect=EDITOR, unsupported={"sandboxEnabled": "asks for VS Code's sandbox"})


def read_vscode(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of one such file; values of `inputs` are asked for there and become needs here."""
    if not is_map(document, origin, findings):
        return []
    places = {
        "servers": document.get("servers"),
        "mcpServers": document.get("mcpServers"),
        "mcp.servers": map_of(document.get("mcp")).get("servers", document.get("mcp.servers")),
    }
    return [
        spec
        for where, section in places.items()
        for spec in EntryImport(_MANNER, where, origin, findings).specs(section)
    ]
