"""Kiro: `mcpServers` with `disabled` and `disabledTools`; `${NAME}` counts in `env` and `headers` only."""

from __future__ import annotations

from toolcrib.clients.dialects import BRACES
from toolcrib.config.importers.client_entries import Manner, mcp_servers_importer

read_kiro = mcp_servers_importer(Manner(dialect=BRACES, referring_keys=frozenset(("env", "headers"))))
