"""Cline and Roo Code: extensions that keep their files in the user folder of whichever editor they run in."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import EDITOR, literal
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.own_entry import EDITOR_REFERENCES
from toolcrib.clients.sections import Entry, Manner, mcp_servers

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


def _places_of_cline(machine: Machine) -> Places:
    file = "cline_mcp_settings.json"
    older = "globalStorage/saoudrizwan.claude-dev/settings"
    return (
        machine.home / ".cline" / "data" / "settings" / file,
        *(machine.editor_user(editor) / older / file for editor in _EDITORS),
    )


def _laid_flat(entry: Entry) -> Entry:
    # The CLI nests the connection.
    nested = entry.get("transport")
    return {**entry, "transport": None, **nested} if isinstance(nested, Mapping) else entry


CLINE = Client(
    "cline",
    "Cline",
    places=_places_of_cline,
    # An address without a type is of the older transport.
    sections=mcp_servers(Manner(literal, url_means="sse"), _laid_flat),
)


def _places_of_roo(machine: Machine) -> Places:
    return tuple(
        machine.editor_user(editor) / "globalStorage/rooveterinaryinc.roo-cline/settings" / file
        for editor in _EDITORS
        for file in ("mcp_settings.json", "cline_mcp_settings.json")
    )


ROO = Client(
    "roo",
    "Roo Code",
    places=_places_of_roo,
    sections=mcp_servers(Manner(EDITOR)),
    environment=EDITOR_REFERENCES,
)
