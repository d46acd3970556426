"""Crush: a map under `mcp`; values are written as in a shell, and one made by a command, `$(...)`, is a need."""

from __future__ import annotations

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import SHELL
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.own_entry import WHOLE, typed
from toolcrib.clients.sections import Manner, under

_KEY = "mcp"


def _places(machine: Machine) -> Places:
    of_windows = machine.local_app_data / "crush"
    folder = of_windows if machine.system == "win32" else machine.dot_config / "crush"
    return (machine.named_by("CRUSH_GLOBAL_CONFIG", folder) / "crush.json",)


CRUSH = Client(
    "crush",
    "Crush",
    places=_places,
    sections=under(_KEY, Manner(SHELL, keys={"disabled_tools": "denyTools", "enabled_tools": "allowTools"})),
    containers=((_KEY,),),
    shape=typed,
    environment=WHOLE,
)
