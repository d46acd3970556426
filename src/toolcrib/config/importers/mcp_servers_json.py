"""The `mcpServers` JSON family: Claude Desktop, Claude Code, Cursor, Windsurf and everyone who copied them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from toolcrib.config.findings import Findings
from toolcrib.config.servers import read_servers
from toolcrib.config.values import kind_of
from toolcrib.model.server import Origin, ServerSpec

_LAUNCH_KEYS = ("command", "url", "serverUrl")


def read_mcp_servers(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file; one that names none gives none."""
    if not isinstance(document, Mapping):
        findings.refuse("", f"expected a map with mcpServers, found {kind_of(document)}", origin.file)
        return []
    where, section = _section(document)
    return read_servers(_each_entry(section, _without_tool_list), where, origin, findings)


def read_mcp_servers_with_milliseconds(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The same for clients that count timeouts in milliseconds."""
    specs = read_mcp_servers(document, origin, findings)
    return [
        replace(spec, timeout_seconds=spec.timeout_seconds / 1000) if spec.timeout_seconds else spec for spec in specs
    ]


def _section(document: Mapping[str, Any]) -> tuple[str, Any]:
    """Where in the document the servers are: under a known key, or the document itself is the map."""
    for key in ("mcpServers", "servers"):
        if key in document:
            return key, document[key]
    mcp = document.get("mcp")
    if isinstance(mcp, Mapping) and "servers" in mcp:
        return "mcp.servers", mcp["servers"]
    return ("", document) if _is_bare_map(document) else ("mcpServers", None)


def _is_bare_map(document: Mapping[str, Any]) -> bool:
    entries = document.values()
    return bool(document) and all(
        isinstance(entry, Mapping) and any(key in entry for key in _LAUNCH_KEYS) for entry in entries
    )


def _each_entry(section: Any, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Any:
    if not isinstance(section, Mapping):
        return section
    return {name: change(entry) if isinstance(entry, Mapping) else entry for name, entry in section.items()}


def _without_tool_list(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    # Some clients keep a list of allowed tools there; only our own files declare tools by this key.
    return {key: value for key, value in entry.items() if key != "tools"}
