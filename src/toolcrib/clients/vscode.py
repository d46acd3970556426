"""VS Code: `servers` and `inputs` in `mcp.json`; in older settings files `mcp.servers`."""

from __future__ import annotations

from collections.abc import Iterator

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import EDITOR
from toolcrib.clients.machine import Machine, Places, found_in
from toolcrib.clients.own_entry import EDITOR_REFERENCES, typed
from toolcrib.clients.sections import Manner, OpenedFile, Section, map_of

_MANNER = Manner(EDITOR, unsupported={"sandboxEnabled": "asks for VS Code's sandbox"})


def _places(machine: Machine) -> Places:
    return (machine.editor_user() / "mcp.json",)


def _variants(machine: Machine) -> Places:
    """Profiles, older settings, and the relatives of VS Code that have no record of their own."""
    users = [machine.editor_user(editor) for editor in ("Code", "Code - Insiders", "VSCodium")]
    return (
        *(user / "mcp.json" for user in users[1:]),
        *(user / "settings.json" for user in users),
        *(file for user in users for file in found_in(user / "profiles", "*/mcp.json")),
    )


def _sections(file: OpenedFile) -> Iterator[Section]:
    """Values of `inputs` are asked for in VS Code and become needs here."""
    document = file.document
    yield Section("servers", document.get("servers"), _MANNER)
    yield Section("mcpServers", document.get("mcpServers"), _MANNER)
    older = map_of(document.get("mcp")).get("servers", document.get("mcp.servers"))
    yield Section("mcp.servers", older, _MANNER)


VSCODE = Client(
    "vscode",
    "VS Code",
    places=_places,
    more=_variants,
    sections=_sections,
    containers=(("servers",), ("mcpServers",)),
    shape=typed,
    environment=EDITOR_REFERENCES,
)
