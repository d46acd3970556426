"""Roo Code: Cline's form with `${env:NAME}` and `disabledTools`."""

from __future__ import annotations

from toolcrib.clients.dialects import EDITOR
from toolcrib.config.importers.client_entries import Manner, mcp_servers_importer

read_roo = mcp_servers_importer(Manner(dialect=EDITOR))
