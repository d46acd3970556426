"""The custom file: `servers.<id>` with name, description, connection and declared tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.config.findings import Findings
from toolcrib.config.servers import read_servers
from toolcrib.config.values import kind_of
from toolcrib.model.server import Origin, ServerSpec


def read_custom(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file; the id is the name, and `name` the title."""
    if not isinstance(document, Mapping):
        findings.refuse("", f"expected a map with servers, found {kind_of(document)}", origin.file)
        return []
    return read_servers(document.get("servers"), "servers", origin, findings)
