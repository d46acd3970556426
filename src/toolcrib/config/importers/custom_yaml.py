"""The custom file: `servers.<id>` with name, description, connection and declared tools."""

from __future__ import annotations

from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import is_map
from toolcrib.config.servers import read_servers
from toolcrib.model.server import Origin, ServerSpec


def read_custom(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file; the id is the name, and `name` the title."""
    if not is_map(document, origin, findings):
        return []
    return read_servers(document.get("servers"), "servers", origin, findings)
