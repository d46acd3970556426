"""Any file with `mcpServers` in our own words and references; for clients that have no importer of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.clients.sections import Entry, each_entry, servers_section
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import is_map
from toolcrib.config.servers import read_servers
from toolcrib.model.server import Origin, ServerSpec


def read_mcp_json(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file; one that names none gives none."""
    if not is_map(document, origin, findings):
        return []
    where, section = servers_section(document)
    return read_servers(each_entry(section, _without_tool_list), where, origin, findings)


def _without_tool_list(entry: Entry) -> Mapping[str, Any]:
    # Some clients keep a list of allowed tools there; only our own files declare tools by this key.
    return {key: value for key, value in entry.items() if key != "tools"}
