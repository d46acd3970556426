"""Golden files: a client's file as a person has it, a divider, and what is imported from it.

The client is the start of the file's name. The input lies where that client keeps its file, unless lines `>>> PATH` say
where in the home the text after them belongs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tests.config.conftest import write
from toolcrib.clients.machine import Machine
from toolcrib.config.diagnostics import Findings
from toolcrib.config.settings import Source
from toolcrib.config.source_types import SOURCE_TYPES
from toolcrib.config.sources import import_sources
from toolcrib.model.server import DeclaredTool, RemoteLaunch, ServerSpec, StdioLaunch

FOLDER = Path(__file__).parents[2] / "golden" / "importers"
DIVIDER = "\n==========\n"
USUAL_NAMES = {
    "custom": "servers.yaml",
    "praxis": "agent.yaml",
    "toolcrib": "toolcrib.yaml",
    "mcp-json": "mcp.json",
    "ccos-overrides": "overrides.json",
}


@dataclass(frozen=True)
class Case:
    client: str
    input: str
    expected: Any

    @classmethod
    def read(cls, file: Path) -> Case:
        text, _, expected = file.read_text(encoding="utf-8").partition(DIVIDER)
        client = max((name for name in SOURCE_TYPES if file.stem.startswith(f"{name}-")), key=len)
        return cls(client, text, json.loads(expected) if expected.strip() else None)

    def imported(self, home: Path) -> Any:
        """What the client's importer makes of the input, with the home written as `~`."""
        machine = Machine(home, {}, "linux")
        source = self._lay_out(machine)
        findings = Findings()
        imported = import_sources([source], machine, home, lambda *_: True, findings)
        result: dict[str, Any] = {"servers": {spec.name: shown(spec) for spec in imported.specs}}
        if findings.problems:
            result["problems"] = [str(problem) for problem in findings.problems]
        if findings.warnings:
            result["warnings"] = findings.warnings
        return json.loads(json.dumps(result).replace(str(home), "~"))

    def _lay_out(self, machine: Machine) -> Source:
        if self.input.startswith(">>> "):
            for part in self.input.split(">>> ")[1:]:
                path, _, text = part.partition("\n")
                write(machine.home / path.strip(), text)
            return Source(self.client)
        places = SOURCE_TYPES[self.client].places(machine)
        if places:
            write(places[0], self.input)
            return Source(self.client)
        return Source(self.client, str(write(machine.home / USUAL_NAMES[self.client], self.input)))


def shown(spec: ServerSpec) -> dict[str, Any]:
    """A spec without what is as always."""
    plain = _changed(spec, ServerSpec("", spec.launch))
    for key in ("name", "origin", "launch"):
        plain.pop(key, None)
    if spec.declared_tools:
        plain["declared_tools"] = tuple(_changed(tool, DeclaredTool("", None)) for tool in spec.declared_tools)
    usual = StdioLaunch("") if isinstance(spec.launch, StdioLaunch) else RemoteLaunch("", transport=None)
    return {**_changed(spec.launch, usual), **plain}


def _changed(value: Any, usual: Any) -> dict[str, Any]:
    compared = [entry.name for entry in fields(value) if entry.compare]
    names = [name for name in compared if getattr(value, name) != getattr(usual, name)]
    plain = asdict(value)
    return {name: plain[name] for name in names}
