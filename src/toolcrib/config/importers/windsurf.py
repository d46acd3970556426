"""Windsurf: `mcpServers` with `serverUrl`, `disabled`, `disabledTools`, `${env:NAME}` and `${file:path}`."""

from __future__ import annotations

from toolcrib.clients.dialects import EDITOR
from toolcrib.config.importers.client_entries import Manner, mcp_servers_importer

read_windsurf = mcp_servers_importer(Manner(dialect=EDITOR))
