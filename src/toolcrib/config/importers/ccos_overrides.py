"""CCOS: servers for capabilities, each with the ids it provides and an address taken from a registry's entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolcrib.clients.sections import Entry, map_of
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import is_map
from toolcrib.config.servers import read_entry
from toolcrib.config.values import join, kind_of
from toolcrib.model.server import Origin, ServerSpec


def read_ccos_overrides(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of the `entries`; what a registry says of packages is not used, only addresses are."""
    if not is_map(document, origin, findings):
        return []
    entries = document.get("entries")
    if not isinstance(entries, list):
        findings.refuse("entries", f"expected a list of entries, found {kind_of(entries)}", origin.file)
        return []
    found = [_read(entry, join("entries", index), origin, findings) for index, entry in enumerate(entries)]
    return [spec for spec in found if spec is not None]


def _read(entry: Any, where: str, origin: Origin, findings: Findings) -> ServerSpec | None:
    data = map_of(entry)
    server = map_of(data.get("server"))
    patterns = tuple(text for text in _list(data.get("matches")) if isinstance(text, str) and text)
    remote = _best_remote(server)
    if remote is None:
        findings.skip(where, "expected a server with an http or https remote, found none", origin.file)
        return None
    values = {**remote, "description": server.get("description") or ""}
    spec = read_entry(_name(server, patterns), values, where, origin, findings)
    return None if spec is None else replace(spec, capabilities=patterns)


def _name(server: Entry, patterns: tuple[str, ...]) -> Any:
    """The server's own name, else what its first pattern is about."""
    return server.get("name") or (patterns[0].removesuffix("*").removesuffix(".") if patterns else None)


def _best_remote(server: Entry) -> Entry | None:
    for remote in map(map_of, _list(server.get("remotes"))):
        url = remote.get("url")
        if isinstance(url, str) and url.lower().startswith(("http://", "https://")):
            kind = "sse" if remote.get("type") == "sse" else "http"
            return {"url": url, "type": kind, "headers": _headers(remote.get("headers"))}
    return None


def _headers(value: Any) -> Entry:
    if isinstance(value, Mapping):
        return value
    named = [map_of(item) for item in _list(value)]
    return {item["name"]: item["value"] for item in named if item.get("name") and item.get("value")}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
