"""Continue: a list of servers in YAML; in its older JSON file `experimental.modelContextProtocolServers`."""

from __future__ import annotations

from typing import Any

from toolcrib.clients.dialects import DOUBLE_BRACES
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import (
    LEFT_OUT,
    Entry,
    EntryImport,
    Manner,
    each_entry,
    is_map,
    list_of,
    map_of,
)
from toolcrib.errors import Problem
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(dialect=DOUBLE_BRACES, keys={"connectionTimeout": "startupTimeout"}, milliseconds=True)
_OLD_PLACE = "experimental.modelContextProtocolServers"


def read_continue(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of both forms; one that is fetched from Continue's hub by name cannot be read from the file."""
    if not is_map(document, origin, findings):
        return []
    section = document.get("mcpServers")
    if isinstance(section, list):
        fetched = [str(item["uses"]) for item in section if map_of(item).get("uses")]
        if fetched:
            message = f"servers of Continue's hub are not imported: {', '.join(fetched)}"
            findings.warn(str(Problem("mcpServers", message, origin.file)))
        section = [LEFT_OUT if map_of(item).get("uses") else item for item in section]
    old = list_of(map_of(document.get("experimental")).get("modelContextProtocolServers"))
    return [
        *EntryImport(_MANNER, "mcpServers", origin, findings).specs(each_entry(section, _with_headers)),
        *EntryImport(_MANNER, _OLD_PLACE, origin, findings).specs(
            [_old_entry(map_of(item), number) for number, item in enumerate(old, 1)]
        ),
    ]


def _with_headers(entry: Entry) -> Entry:
    headers = {**map_of(map_of(entry.get("requestOptions")).get("headers"))}
    if isinstance(key := entry.get("apiKey"), str):
        headers.setdefault("Authorization", f"Bearer {key}")
    return {**entry, "headers": headers} if headers else entry


def _old_entry(item: Entry, number: int) -> Entry:
    # The older form has no names.
    return {"name": f"continue-{number}", **map_of(item.get("transport"))}
