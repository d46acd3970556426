"""Codex: TOML under `mcp_servers`; variables are named, never written into texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.clients.dialects import Ours, literal, reference
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import Entry, EntryImport, Manner, each_entry, is_map, list_of, map_of
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(
    dialect=literal,
    keys={
        "env_vars": "passEnv",
        "http_headers": "headers",
        "tool_timeout_sec": "timeout",
        "startup_timeout_sec": "startupTimeout",
        "enabled_tools": "allowTools",
        "disabled_tools": "denyTools",
    },
    unsupported={"http_headers_helper": "names a program that makes the headers"},
)


def read_codex(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of such a file; one with a token in plain text is refused, as Codex does."""
    if not is_map(document, origin, findings):
        return []
    section = document.get("mcp_servers")
    if isinstance(section, Mapping):
        refused = [name for name, entry in section.items() if "bearer_token" in map_of(entry)]
        for name in refused:
            message = "expected bearer_token_env_var, found bearer_token, which Codex does not take either"
            findings.skip(f"mcp_servers.{name}.bearer_token", message, origin.file)
        section = {name: entry for name, entry in section.items() if name not in refused}
    return EntryImport(_MANNER, "mcp_servers", origin, findings).specs(each_entry(section, _in_our_words))


def _in_our_words(entry: Entry) -> Entry:
    ours = {**entry}
    if "env_vars" in entry:
        ours["env_vars"] = [map_of(item).get("name", item) for item in list_of(entry["env_vars"])]
    if "startup_timeout_sec" not in entry and isinstance(milliseconds := entry.get("startup_timeout_ms"), int | float):
        ours["startup_timeout_sec"] = milliseconds / 1000
    headers = {name: reference(str(variable)) for name, variable in map_of(entry.get("env_http_headers")).items()}
    if token := entry.get("bearer_token_env_var"):
        headers["Authorization"] = Ours(f"Bearer ${{{token}}}")
    if headers and isinstance(entry.get("http_headers", {}), Mapping):
        ours["http_headers"] = {**entry.get("http_headers", {}), **headers}
    return ours
