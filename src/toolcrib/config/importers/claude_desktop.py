"""Claude Desktop: the plain `mcpServers` file. It knows no references, but people write `${TOKEN}` there and mean one."""

from __future__ import annotations

from toolcrib.clients.dialects import SHOUTED_BRACES
from toolcrib.config.importers.client_entries import Manner, mcp_servers_importer

read_claude_desktop = mcp_servers_importer(Manner(dialect=SHOUTED_BRACES))
