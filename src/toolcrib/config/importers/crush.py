"""Crush: a map under `mcp`; values are written as in a shell."""

from __future__ import annotations

from typing import Any

from toolcrib.clients.dialects import SHELL
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import EntryImport, Manner, is_map
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(dialect=SHELL, keys={"disabled_tools": "denyTools", "enabled_tools": "allowTools"})


def read_crush(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file; a value made by a command, `$(...)`, is a need."""
    if not is_map(document, origin, findings):
        return []
    return EntryImport(_MANNER, "mcp", origin, findings).specs(document.get("mcp"))
