"""JetBrains AI Assistant: XML of options, and since 2025.3 `mcpServers` in JSON; Junie, its agent: plain `mcpServers`.

Neither has references. An element of XML is read as a map of its `tag`, its `attributes` and its `children`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import literal
from toolcrib.clients.machine import Machine, Places, found_in, in_home
from toolcrib.clients.sections import Entry, Manner, OpenedFile, Section, list_of, mcp_servers

_MANNER = Manner(literal, keys={"programPath": "command", "arguments": "args", "workingDirectory": "cwd"})
_COMPONENTS = ("McpApplicationServerCommands", "McpProjectServerCommands")
_in_json = mcp_servers(Manner(literal))


def _products(machine: Machine) -> Places:
    return found_in(machine.app_config / "JetBrains", "*/options/llm.mcpServers.xml")


def _sections(file: OpenedFile) -> Iterable[Section]:
    return _in_xml(file.document) if str(file.path).endswith(".xml") else _in_json(file)


def _in_xml(document: Entry) -> Iterator[Section]:
    """Newer XML keeps only names and switches, which define nothing."""
    entries = [entry for component in _components(document) for entry in _entries(component)] if document else []
    defined = [entry for entry in entries if entry.get("programPath") or entry.get("url")]
    yield Section(_COMPONENTS[0], defined, _MANNER)


def _components(element: Entry) -> Iterator[Entry]:
    if element["attributes"].get("name") in _COMPONENTS:
        yield element
        return
    for child in element["children"]:
        yield from _components(child)


def _entries(element: Entry) -> Iterator[dict[str, Any]]:
    """Whatever lies in there and has options of its own that say its name."""
    for child in element["children"]:
        options = {
            option["attributes"].get("name"): option["attributes"].get("value")
            for option in child["children"]
            if option["tag"] == "option"
        }
        if options.get("name"):
            yield _entry(options, child)
        else:
            yield from _entries(child)


def _entry(options: dict[str | None, Any], element: Entry) -> dict[str, Any]:
    envs = [env for child in element["children"] if child["tag"] == "envs" for env in list_of(child["children"])]
    entry = {str(key): value for key, value in options.items() if value}
    if "arguments" in entry:
        entry["arguments"] = _words(entry["arguments"])
    entry["enabled"] = entry.get("enabled") != "false"
    entry["env"] = {env["attributes"].get("name", ""): env["attributes"].get("value", "") for env in envs}
    return entry


def _words(text: str) -> Any:
    try:
        return shlex.split(text)
    except ValueError:
        # Left as text: the reader says what is wrong with it.
        return text


JETBRAINS = Client(
    "jetbrains",
    "JetBrains AI Assistant",
    places=in_home(".ai/mcp/mcp.json"),
    more=_products,
    sections=_sections,
)


def _others_of_junie(machine: Machine) -> Places:
    return tuple(file for file in found_in(machine.home / ".junie" / "mcp", "*.json") if file.name != "mcp.json")


JUNIE = Client(
    "junie",
    "Junie",
    places=in_home(".junie/mcp/mcp.json"),
    more=_others_of_junie,
    sections=mcp_servers(Manner(literal)),
)
