"""Claude Desktop: the plain `mcpServers` file. It knows no references, but people write `${TOKEN}` there and mean one."""

from __future__ import annotations

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import SHOUTED_BRACES
from toolcrib.clients.machine import Machine, Places, found_in
from toolcrib.clients.sections import Manner, mcp_servers

_FILE = "claude_desktop_config.json"


def _places(machine: Machine) -> Places:
    return (machine.app_config / "Claude" / _FILE, machine.app_config / "claude" / _FILE)


def _places_of_the_store(machine: Machine) -> Places:
    if machine.system != "win32":
        return ()
    return found_in(machine.local_app_data / "Packages", f"Claude_*/LocalCache/Roaming/Claude/{_FILE}")


CLAUDE_DESKTOP = Client(
    "claude-desktop",
    "Claude Desktop",
    places=_places,
    more=_places_of_the_store,
    sections=mcp_servers(Manner(SHOUTED_BRACES)),
    calls_itself="claude-ai",
)
