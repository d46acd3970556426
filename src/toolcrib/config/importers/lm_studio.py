"""LM Studio: the notation of Cursor."""

from __future__ import annotations

from toolcrib.clients.dialects import EDITOR
from toolcrib.config.importers.client_entries import Manner, mcp_servers_importer

read_lm_studio = mcp_servers_importer(Manner(dialect=EDITOR))
