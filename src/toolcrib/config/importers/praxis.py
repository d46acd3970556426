"""Praxis: addresses under `agent`, servers under `mcp.servers`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from toolcrib.clients.sections import Entry, Manner, each_entry, map_of
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import EntryImport, is_map
from toolcrib.errors import Problem
from toolcrib.model.server import REMOTE_MCP, Origin, ServerSpec

_MANNER = Manner(keys={"workdir": "cwd"})
_ENDPOINTS = "external_mcp_endpoints"
_OLDER_ENDPOINTS = "external_mcp_servers"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def read_praxis(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The endpoints of the agent and the servers of its MCP section, which may switch all of them off."""
    if not is_map(document, origin, findings):
        return []
    agent, mcp = map_of(document.get("agent")), map_of(document.get("mcp"))
    key = _ENDPOINTS if agent.get(_ENDPOINTS) else _OLDER_ENDPOINTS
    endpoints = agent.get(key)
    if isinstance(endpoints, list):
        endpoints = [_named({"url": item} if isinstance(item, str) else item) for item in endpoints]
    external = EntryImport(_MANNER, f"agent.{key}", origin, findings).specs(each_entry(endpoints, _with_seconds))
    own = EntryImport(_MANNER, "mcp.servers", origin, findings).specs(each_entry(mcp.get("servers"), _with_seconds))
    specs = [*(replace(spec, contract=REMOTE_MCP) for spec in external), *own]
    return [replace(spec, enabled=False) for spec in specs] if mcp.get("enabled") is False else specs


def read_praxis_source(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The same for a file that is only a source of servers: whose tools peers may use is not for it to say."""
    if isinstance(document, Mapping) and map_of(document.get("p2p")).get("enabled") is True:
        message = "is not used: only your own configuration switches peers on (`peers.enabled`)"
        findings.warn(str(Problem("p2p", message, origin.file)))
    return read_praxis(document, origin, findings)


def is_praxis(document: Mapping[str, Any]) -> bool:
    """Whether a file describes a Praxis agent."""
    return any(isinstance(document.get(key), Mapping) for key in ("agent", "p2p"))


def _named(item: Any) -> Any:
    """An endpoint without a name is named after its host and port."""
    if not isinstance(item, Mapping) or item.get("name") or not isinstance(item.get("url"), str):
        return item
    return {**item, "name": _host_and_port(item["url"])}


def _host_and_port(url: str) -> str:
    try:
        parts = urlsplit(url)
        return "-".join(str(part) for part in (parts.hostname, parts.port) if part) or url
    except ValueError:
        return url


def _with_seconds(entry: Entry) -> Entry:
    timeout = entry.get("timeout")
    match = _DURATION.fullmatch(timeout) if isinstance(timeout, str) else None
    changed = {**entry, "timeout": float(match[1]) * _UNIT_SECONDS[match[2]]} if match else {**entry}
    if entry.get("transport") == "stream":
        changed["transport"] = "http"
    return changed
