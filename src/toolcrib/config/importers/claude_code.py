"""Claude Code: `mcpServers` of the user; those of `projects` belong to a folder and are only reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.clients.dialects import BRACES
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import EntryImport, Manner, is_map, map_of, servers_section
from toolcrib.errors import Problem
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(
    dialect=BRACES, milliseconds=True, unsupported={"headersHelper": "names a program that makes the headers"}
)
_SHOWN_NAMES = 5


def read_claude_code(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The user's own servers."""
    if not is_map(document, origin, findings):
        return []
    _report_projects(document, origin, findings)
    where, section = servers_section(document)
    return EntryImport(_MANNER, where, origin, findings).specs(section)


def _report_projects(document: Mapping[str, Any], origin: Origin, findings: Findings) -> None:
    names = [
        f"{name} of {folder}"
        for folder, project in map_of(document.get("projects")).items()
        for name in map_of(map_of(project).get("mcpServers"))
    ]
    if names:
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        shown = ", ".join(names[:_SHOWN_NAMES]) + more
        findings.warn(str(Problem("projects", f"servers of a project are not imported: {shown}", origin.file)))
