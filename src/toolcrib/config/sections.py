"""Where in a configuration file our section is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.config.importers.praxis import is_praxis

PRAXIS_SERVERS = "mcp.servers"
OTHER_KEYS = ("servers", "sources", "toolRules", "profiles", "introspection", "mcpServers", "mcp", "$schema", "version")


def has_discovery_section(document: Any) -> bool:
    return isinstance(document, Mapping) and _nested(document) is not None


def discovery_section(document: Mapping[str, Any]) -> tuple[str, Any]:
    """The path of the section and the section: `discovery`, `mcp.discovery`, or the file itself."""
    nested = _nested(document)
    return ("", document) if nested is None else nested


def settings_section(document: Mapping[str, Any]) -> tuple[str, Any]:
    """Where our settings are; a Praxis file without a section of ours has none, its `http` and `logging` are its own."""
    return ("", {}) if is_praxis(document) and _nested(document) is None else discovery_section(document)


def server_sections(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every place servers may be listed, with its path: in the section, and as clients write them."""
    where, section = discovery_section(document)
    holders = [(where, section)] if isinstance(section, Mapping) else []
    if where:
        holders.append(("", {"mcpServers": document.get("mcpServers")}))
    for path, holder in holders:
        for key in ("servers", "mcpServers"):
            yield f"{path}.{key}" if path else key, holder.get(key)
    mcp = document.get("mcp")
    if isinstance(mcp, Mapping):
        yield PRAXIS_SERVERS, mcp.get("servers")


def _nested(document: Mapping[str, Any]) -> tuple[str, Any] | None:
    if "discovery" in document:
        return "discovery", document["discovery"]
    mcp = document.get("mcp")
    if isinstance(mcp, Mapping) and "discovery" in mcp:
        return "mcp.discovery", mcp["discovery"]
    return None
