"""A small world of capabilities: two configured servers, one that left, and stores in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.fakes import Clock
from toolcrib.approvals.approvals import Approvals, ProposalRequest
from toolcrib.approvals.events import Event
from toolcrib.ccos.capability_catalog import CapabilityCatalog
from toolcrib.ccos.export import CapabilityFiles
from toolcrib.ccos.known_capability import ListedTool
from toolcrib.ccos.marketplace import Marketplace
from toolcrib.ccos.registrations import Registrations
from toolcrib.ccos.review import Review
from toolcrib.model.server import RemoteLaunch, ServerSpec, StdioLaunch
from toolcrib.model.tool import Tool
from toolcrib.search.index import ToolIndex
from toolcrib.storage.memory_capabilities import MemoryCapabilities

GITHUB = ServerSpec("github", RemoteLaunch("https://user:pw@api.example.com/mcp?key=s3cret"))
FILES = ServerSpec("files", StdioLaunch("files-mcp", ("--token", "s3cret")))


def definition(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": sorted(properties)}
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": schema}


LIST_ISSUES = definition("list_issues", "List issues in a repository", owner={"type": "string"})
READ_FILE = definition("read_file", "Read a file", path={"type": "string"})


@dataclass
class World:
    """Everything wired as the application does it; `listed` and `specs` may be changed by a test."""

    root: Path
    clock: Clock = field(default_factory=Clock)
    events: list[Event] = field(default_factory=list)
    specs: dict[str, ServerSpec] = field(default_factory=lambda: {"github": GITHUB, "files": FILES})
    listed: list[ListedTool] = field(
        default_factory=lambda: [
            ListedTool(Tool.from_mcp("github", LIST_ISSUES), GITHUB),
            ListedTool(Tool.from_mcp("files", READ_FILE), FILES),
            ListedTool(Tool.from_mcp("files", definition("delete_file")), FILES, reason="a rule says no"),
            ListedTool(Tool.from_mcp("old", definition("list_things")), None),
        ]
    )

    def __post_init__(self) -> None:
        self.store = MemoryCapabilities()
        ids = count(1)
        self.approvals = Approvals(
            self.store,
            now=self.clock,
            new_id=lambda: f"apr-{next(ids)}",
            configured=lambda: self.specs,
            tell=self.events.append,
        )
        self.registrations = Registrations(self.store, now=self.clock)
        self.files = CapabilityFiles(self.root / "servers")
        self.review = Review(self.approvals, self.files)
        self.catalog = CapabilityCatalog(self.registrations, self.approvals, self, ToolIndex)
        self.marketplace = Marketplace(self.catalog, self.registrations, now=self.clock, tell=self.events.append)

    def listed_tools(self) -> Iterator[ListedTool]:
        yield from self.listed

    def is_configured(self, server: str) -> bool:
        return server in self.specs

    def happenings(self) -> list[str]:
        return [event.what for event in self.events]

    def written(self) -> list[str]:
        """All files of the projection, as paths below its root."""
        return sorted(str(file.relative_to(self.files.root)) for file in self.files.root.rglob("*") if file.is_file())


def proposed(name: str = "notes", url: str = "https://notes.example.com/mcp", **more: Any) -> ProposalRequest:
    tools: tuple[Mapping[str, Any], ...] = more.pop("definitions", (definition("list_notes", "List notes"),))
    return ProposalRequest(name=name, launch=RemoteLaunch(url), source="agent test", definitions=tools, **more)
