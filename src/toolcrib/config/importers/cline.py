"""Cline: an address without a type is of the older transport; the CLI nests the connection under `transport`."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.clients.dialects import literal
from toolcrib.config.importers.client_entries import Entry, Manner, mcp_servers_importer


def _laid_flat(entry: Entry) -> Entry:
    nested = entry.get("transport")
    return {**entry, "transport": None, **nested} if isinstance(nested, Mapping) else entry


read_cline = mcp_servers_importer(Manner(dialect=literal, url_means="sse"), _laid_flat)
