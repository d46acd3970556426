"""Cursor: `mcpServers` with `${env:NAME}`, `${userHome}` and workspace variables."""

from __future__ import annotations

from toolcrib.clients.dialects import EDITOR
from toolcrib.config.importers.client_entries import Manner, mcp_servers_importer

read_cursor = mcp_servers_importer(Manner(dialect=EDITOR))
