"""Amazon Q: `mcpServers` in its old file and in agents' files, where `tools` names what an agent may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.clients.dialects import ENV_BRACES
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import Entry, EntryImport, Manner, is_map, texts_of
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(
    dialect=ENV_BRACES,
    referring_keys=frozenset(("env", "headers")),
    keys={"allowTools": "allowTools"},
    milliseconds=True,
)


def read_amazon_q(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file; in an agent's file only the tools that agent has."""
    if not is_map(document, origin, findings):
        return []
    section = document.get("mcpServers")
    if isinstance(section, Mapping) and isinstance(document.get("tools"), list):
        section = {name: _with_tools(name, entry, texts_of(document["tools"])) for name, entry in section.items()}
    return EntryImport(_MANNER, "mcpServers", origin, findings).specs(section)


def _with_tools(server: str, entry: Any, tools: list[str]) -> Any:
    if not isinstance(entry, Mapping) or "*" in tools or f"@{server}" in tools or f"@{server}/*" in tools:
        return entry
    prefix = f"@{server}/"
    allowed: Entry = {"allowTools": [tool.removeprefix(prefix) for tool in tools if tool.startswith(prefix)]}
    return {**entry, **allowed}
