"""Amazon Q: `mcpServers` in its old file and in agents' files, where `tools` names what an agent may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import ENV_BRACES
from toolcrib.clients.machine import Machine, Places, found_in, in_home
from toolcrib.clients.own_entry import EDITOR_REFERENCES
from toolcrib.clients.sections import Entry, Manner, OpenedFile, Section, texts_of

_KEY = "mcpServers"
_MANNER = Manner(
    ENV_BRACES,
    referring_keys=frozenset(("env", "headers")),
    keys={"allowTools": "allowTools"},
    milliseconds=True,
)


def _agents(machine: Machine) -> Places:
    folder = machine.home / ".aws" / "amazonq"
    return (folder / "agents" / "default.json", *found_in(folder, "cli-agents/*.json"))


def _sections(file: OpenedFile) -> Iterator[Section]:
    """In an agent's file only the tools that agent has."""
    entries, tools = file.document.get(_KEY), file.document.get("tools")
    if isinstance(entries, Mapping) and isinstance(tools, list):
        entries = {name: _with_tools(name, entry, texts_of(tools)) for name, entry in entries.items()}
    yield Section(_KEY, entries, _MANNER)


def _with_tools(server: str, entry: Any, tools: list[str]) -> Any:
    if not isinstance(entry, Mapping) or "*" in tools or f"@{server}" in tools or f"@{server}/*" in tools:
        return entry
    prefix = f"@{server}/"
    allowed: Entry = {"allowTools": [tool.removeprefix(prefix) for tool in tools if tool.startswith(prefix)]}
    return {**entry, **allowed}


AMAZON_Q = Client(
    "amazon-q",
    "Amazon Q",
    places=in_home(".aws/amazonq/mcp.json"),
    more=_agents,
    sections=_sections,
    environment=EDITOR_REFERENCES,
)
