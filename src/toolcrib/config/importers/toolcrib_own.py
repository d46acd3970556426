"""A configuration file of Toolcrib's own form, read for its servers only."""

from __future__ import annotations

from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import is_map
from toolcrib.config.sections import server_sections
from toolcrib.config.servers import read_servers
from toolcrib.model.server import Origin, ServerSpec


def read_toolcrib(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers such a file lists, wherever it may list them."""
    if not is_map(document, origin, findings):
        return []
    sections = server_sections(document)
    return [spec for where, section in sections for spec in read_servers(section, where, origin, findings)]
