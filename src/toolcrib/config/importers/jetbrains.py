"""JetBrains AI Assistant: XML of options, and since 2025.3 `mcpServers` in JSON; no references."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.clients.dialects import literal
from toolcrib.config.diagnostics import Findings
from toolcrib.config.importers.client_entries import EntryImport, Manner, list_of, mcp_servers_importer
from toolcrib.config.xml_text import ATTRIBUTES, CHILDREN, TAG
from toolcrib.model.server import Origin, ServerSpec

_MANNER = Manner(dialect=literal, keys={"programPath": "command", "arguments": "args", "workingDirectory": "cwd"})
_COMPONENTS = ("McpApplicationServerCommands", "McpProjectServerCommands")
_read_json = mcp_servers_importer(Manner(dialect=literal))


def read_jetbrains(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
    """The servers of either form; newer XML keeps only names and switches, which define nothing."""
    if not origin.file.endswith(".xml"):
        return _read_json(document, origin, findings)
    entries = [entry for component in _components(document) for entry in _entries(component)] if document else []
    return EntryImport(_MANNER, _COMPONENTS[0], origin, findings).specs(
        [entry for entry in entries if entry.get("programPath") or entry.get("url")]
    )


def _components(element: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if element[ATTRIBUTES].get("name") in _COMPONENTS:
        yield element
        return
    for child in element[CHILDREN]:
        yield from _components(child)


def _entries(element: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Whatever lies in there and has options of its own that say its name."""
    for child in element[CHILDREN]:
        options = {
            option[ATTRIBUTES].get("name"): option[ATTRIBUTES].get("value")
            for option in child[CHILDREN]
            if option[TAG] == "option"
        }
        if options.get("name"):
            yield _entry(options, child)
        else:
            yield from _entries(child)


def _entry(options: dict[str | None, Any], element: Mapping[str, Any]) -> dict[str, Any]:
    envs = [env for child in element[CHILDREN] if child[TAG] == "envs" for env in list_of(child[CHILDREN])]
    entry = {str(key): value for key, value in options.items() if value}
    if "arguments" in entry:
        entry["arguments"] = _words(entry["arguments"])
    entry["enabled"] = entry.get("enabled") != "false"
    entry["env"] = {env[ATTRIBUTES].get("name", ""): env[ATTRIBUTES].get("value", "") for env in envs}
    return entry


def _words(text: str) -> Any:
    try:
        return shlex.split(text)
    except ValueError:
        # Left as text: the reader says what is wrong with it.
        return text
