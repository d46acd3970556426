"""GitHub Copilot: its JetBrains plugin writes `servers` as VS Code does, its CLI `mcpServers` with a list of tools."""

from __future__ import annotations

from pathlib import Path

from toolcrib.clients import own_entry
from toolcrib.clients.client import Client
from toolcrib.clients.dialects import BARE_OR_BRACES, EDITOR
from toolcrib.clients.display import ClientDisplay
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.sections import Entry, Manner, map_of, mcp_servers


def _places_in_jetbrains(machine: Machine) -> Places:
    folder = machine.local_app_data if machine.system == "win32" else machine.dot_config
    return (folder / "github-copilot" / "intellij" / "mcp.json",)


def _with_request_headers(entry: Entry) -> Entry:
    headers = map_of(entry.get("requestInit")).get("headers")
    return {**entry, "headers": headers} if headers and "headers" not in entry else entry


COPILOT_JETBRAINS = Client(
    "copilot-jetbrains",
    "GitHub Copilot in JetBrains",
    places=_places_in_jetbrains,
    sections=mcp_servers(Manner(EDITOR), _with_request_headers),
    containers=(("servers",), ("mcpServers",)),
    shape=own_entry.typed,
    environment=own_entry.EDITOR_REFERENCES,
)


def _places_of_cli(machine: Machine) -> Places:
    file = "mcp-config.json"
    usual = machine.named_by("COPILOT_HOME", machine.home / ".copilot") / file
    moved = machine.env.get("XDG_CONFIG_HOME")
    return (usual, Path(moved) / "copilot" / file, Path(moved) / file) if moved else (usual,)


def _without_star(entry: Entry) -> Entry:
    return {**entry, "tools": None} if entry.get("tools") in (["*"], "*") else entry


def _entry(launch: own_entry.OwnLaunch) -> own_entry.Entry:
    # `deferTools`, else the model sees only the names of our tools, and has to look for them first.
    return {"type": "local", **own_entry.plain(launch), "tools": ["*"], "deferTools": "never"}


COPILOT_CLI = Client(
    "copilot-cli",
    "GitHub Copilot CLI",
    places=_places_of_cli,
    sections=mcp_servers(Manner(BARE_OR_BRACES, keys={"tools": "allowTools"}), _without_star),
    shape=_entry,
    # All but the one it signs in with.
    environment=own_entry.Environment(is_whole=True, withheld=frozenset(("GITHUB_TOKEN",))),
    calls_itself="github-copilot",
    display=ClientDisplay("both", max_bytes=19_000),
)
