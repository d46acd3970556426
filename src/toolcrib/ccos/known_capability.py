"""A capability as the catalog knows it; its manifest is made when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from toolcrib.ccos.from_tool import manifest_of
from toolcrib.ccos.manifest import ApprovalStatus, Manifest, capability_id, public_address
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.topics.categories import infer_categories
from toolcrib.topics.domains import infer_domains


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool of the catalog with the server it belongs to; `reason` says why it may not be used.

    `spec` is None where the server left the configuration. `learnt` looks up what its results looked like. One that `waits` is
    one that a person has to look at first.
    """

    tool: Tool
    spec: ServerSpec | None
    upstream_name: str = ""
    reason: str = ""
    learnt: Callable[[], Mapping[str, Any] | None] | None = None
    waits: bool = False


class ListedTools(Protocol):
    """Whoever knows the tools of all servers, and what the rules say of each."""

    def listed_tools(self) -> Iterable[ListedTool]: ...

    def is_configured(self, server: str) -> bool: ...


@dataclass(frozen=True)
class KnownCapability:
    """What a list or a search needs of a capability; `reason` says why it may not be used."""

    id: str
    server: str
    name: str
    description: str
    address: str
    domains: tuple[str, ...]
    categories: tuple[str, ...]
    status: ApprovalStatus
    reason: str
    tool: Tool = field(compare=False, repr=False)
    make: Callable[[], Manifest] = field(compare=False, repr=False)
    waits: bool = False

    @classmethod
    def of_tool(cls, listed: ListedTool, spec: ServerSpec, status: ApprovalStatus, reason: str = "") -> KnownCapability:
        tool, own_name = listed.tool, listed.upstream_name or listed.tool.name

        def make() -> Manifest:
            learnt = listed.learnt() if listed.learnt is not None and not tool.output_schema else None
            return manifest_of(tool, spec, status=status, upstream_name=own_name, output_schema=learnt)

        return cls(
            id=capability_id(spec.name, tool.name),
            server=spec.name,
            name=tool.name,
            description=tool.description,
            address=public_address(spec.launch, spec.name),
            domains=tuple(infer_domains(spec.title or spec.name, own_name)),
            categories=tuple(infer_categories(own_name)),
            status=status,
            reason=reason or listed.reason,
            tool=tool,
            make=make,
            waits=listed.waits,
        )

    @classmethod
    def of_manifest(cls, manifest: Manifest, status: ApprovalStatus, reason: str = "") -> KnownCapability:
        definition = {"name": manifest.name, "description": manifest.description}
        return cls(
            id=manifest.id,
            server=manifest.server,
            name=manifest.name,
            description=manifest.description,
            address=manifest.provider.server_url,
            domains=manifest.domains,
            categories=manifest.categories,
            status=status,
            reason=reason,
            tool=Tool(manifest.server or manifest.id, manifest.name, definition),
            make=lambda: manifest,
        )

    @cached_property
    def manifest(self) -> Manifest:
        return self.make()

    @property
    def may_be_used(self) -> bool:
        return self.status in {"approved", "auto_approved"} and not self.reason

    @cached_property
    def search_text(self) -> str:
        """All words a search looks at, in lower case."""
        fields = self.tool.input_schema.get("properties"), self.tool.output_schema.get("properties")
        named = [str(name) for properties in fields if isinstance(properties, Mapping) for name in properties]
        words = (self.id, self.name, self.description, *self.domains, *self.categories, *named)
        return " ".join(words).replace("_", " ").lower()
