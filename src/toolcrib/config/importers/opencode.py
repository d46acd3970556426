"""OpenCode: a map under `mcp`, commands as one array, `{env:NAME}` and `{file:path}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolcrib.clients.dialects import dialect, reference
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import EntryImport, Manner, is_map, map_of
from toolcrib.model.server import Origin, ServerSpec

_REFERENCE = r"\{(?:env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|file:(?P<path>[^{}]+))\}"


def read_opencode(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file; an entry that says only whether it is on belongs to a server defined elsewhere."""
    if not is_map(document, origin, findings):
        return []
    folder = Path(origin.file).parent
    manner = Manner(
        dialect=dialect(_REFERENCE, lambda match: _ours(match, folder)),
        keys={"environment": "env", "timeout": "startupTimeout"},
        milliseconds=True,
    )
    section = document.get("mcp")
    if isinstance(section, Mapping):
        section = {
            name: entry for name, entry in section.items() if not (entry and map_of(entry).keys() == {"enabled"})
        }
    return EntryImport(manner, "mcp", origin, findings).specs(section)


def _ours(match: re.Match[str], folder: Path) -> str:
    path = match["path"]
    if not path:
        return reference(match["name"])
    return f"${{file:{path if path.startswith('~') else folder / path}}}"
