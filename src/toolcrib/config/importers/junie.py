"""Junie: plain `mcpServers`, no references."""

from __future__ import annotations

from toolcrib.clients.dialects import literal
from toolcrib.config.importers.client_entries import Manner, mcp_servers_importer

read_junie = mcp_servers_importer(Manner(dialect=literal))
