"""Clients that `config.sources` has no importer for: only entries written in our own words are understood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolcrib.config.entries import KNOWN_KEYS
from toolcrib.config.findings import Findings
from toolcrib.config.servers import read_servers
from toolcrib.config.sources import Machine, SourceType
from toolcrib.model.server import Origin, ServerSpec


def _reader(key: str) -> Callable[[Any, Origin, Findings], list[ServerSpec]]:
    def read(document: Any, origin: Origin, findings: Findings) -> list[ServerSpec]:
        section = document.get(key)
        for name, entry in section.items() if isinstance(section, Mapping) else ():
            foreign = [word for word in entry if word not in KNOWN_KEYS] if isinstance(entry, Mapping) else []
            if foreign:
                findings.skip(f"{key}.{name}", f"uses {', '.join(foreign)}, which is not understood yet", origin.file)
                return []
        return read_servers(section, key, origin, findings)

    return read


UNREAD_CLIENTS: Mapping[str, SourceType] = {
    "vscode": SourceType(_reader("servers"), lambda machine: (machine.app_config / "Code" / "User" / "mcp.json",)),
    "codex": SourceType(_reader("mcp_servers"), lambda machine: (_codex_home(machine),)),
}


def _codex_home(machine: Machine) -> Path:
    named = machine.env.get("CODEX_HOME")
    return (Path(named) if named else machine.home / ".codex") / "config.toml"
