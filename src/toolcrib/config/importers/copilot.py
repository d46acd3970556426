"""GitHub Copilot: its JetBrains plugin writes `servers` as VS Code does, its CLI `mcpServers` with a list of tools."""

from __future__ import annotations

from toolcrib.clients.dialects import BARE_OR_BRACES, EDITOR
from toolcrib.config.importers.client_entries import Entry, Manner, map_of, mcp_servers_importer


def _with_request_headers(entry: Entry) -> Entry:
    headers = map_of(entry.get("requestInit")).get("headers")
    return {**entry, "headers": headers} if headers and "headers" not in entry else entry


def _without_star(entry: Entry) -> Entry:
    return {**entry, "tools": None} if entry.get("tools") in (["*"], "*") else entry


read_copilot_jetbrains = mcp_servers_importer(Manner(dialect=EDITOR), _with_request_headers)
read_copilot_cli = mcp_servers_importer(Manner(dialect=BARE_OR_BRACES, keys={"tools": "allowTools"}), _without_star)
