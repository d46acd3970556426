"""What becomes of discovered tools besides an answer: registered as capabilities, written to files, where asked for."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.protocols import (
    CapabilityExport,
    CapabilityRegister,
    Manifest,
    ManifestMaker,
    ResourceManifestMaker,
    ServerProposals,
)
from toolcrib.discovery.results import DiscoveredMCPTool
from toolcrib.errors import ToolcribError, ValidationError
from toolcrib.model.server import FROM_REGISTRY, ServerSpec

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CapabilitySinks:
    """The optional parts that deal with capabilities."""

    manifests: ManifestMaker | None = None
    marketplace: CapabilityRegister | None = None
    catalog: CapabilityRegister | None = None
    export: CapabilityExport | None = None
    resources: ResourceManifestMaker | None = None
    proposals: ServerProposals | None = None
    # Whether a person has to look at a tool first: such a one is neither registered nor exported.
    waits: Callable[[DiscoveredMCPTool, ServerSpec], bool] = lambda *_: False

    def check(self, options: DiscoveryOptions) -> None:
        """Refuse, before a server is asked, what no part is there for."""
        if options.register_in_marketplace and self.marketplace is None:
            raise _missing("a marketplace", "register_in_marketplace")
        if options.export_to_rtfs and self.export is None:
            raise _missing("an export", "export_to_rtfs")
        if options.create_approval_request and self.proposals is None:
            raise _missing("a place for proposals", "create_approval_request")

    def manifest(self, tool: DiscoveredMCPTool, config: ServerSpec) -> Manifest:
        if self.manifests is None:
            raise _missing("a maker of manifests", "tool_to_manifest")
        return self.manifests(tool, config)

    def resource_manifest(self, resource: Mapping[str, Any], config: ServerSpec) -> Manifest:
        if self.resources is None:
            raise _missing("a maker of manifests", "resource_to_manifest")
        return self.resources(resource, config)

    async def register(self, manifest: Manifest) -> None:
        """Enter a capability in the marketplace and in the catalog, as far as they are there."""
        registers = [register for register in (self.marketplace, self.catalog) if register is not None]
        if not registers:
            raise _missing("a marketplace or a catalog", "register_capability")
        for register in registers:
            given = register.register(manifest)
            if inspect.isawaitable(given):
                await given

    async def take_in(self, tools: Sequence[DiscoveredMCPTool], config: ServerSpec, options: DiscoveryOptions) -> None:
        """Register, export and propose as the options ask; what is refused costs itself alone."""
        if options.register_in_marketplace or options.export_to_rtfs:
            await self._register_and_export(tools, config, options)
        # Last: the files of a proposal say more than those of an export.
        if options.create_approval_request and config.origin.source == FROM_REGISTRY:
            await self._propose(tools, config)

    async def _register_and_export(
        self, tools: Sequence[DiscoveredMCPTool], config: ServerSpec, options: DiscoveryOptions
    ) -> None:
        tools = [tool for tool in tools if not self.waits(tool, config)]
        manifests = [self.manifest(tool, config) for tool in tools]
        if options.register_in_marketplace:
            for tool, manifest in zip(tools, manifests, strict=True):
                await self._register_one(tool, config, manifest)
        if options.export_to_rtfs and self.export is not None:
            folder = None if options.export_directory is None else Path(options.export_directory)
            await asyncio.to_thread(self.export.export, manifests, folder)

    async def _propose(self, tools: Sequence[DiscoveredMCPTool], config: ServerSpec) -> None:
        assert self.proposals is not None
        try:
            await self.proposals.propose(config, [tool.definition for tool in tools])
        except ToolcribError as error:
            log.warning("%s was not proposed: %s", config.name, error.message)

    async def _register_one(self, tool: DiscoveredMCPTool, config: ServerSpec, manifest: Manifest) -> None:
        try:
            await self.register(manifest)
        except ToolcribError as error:
            log.warning("%s:%s was not registered: %s", config.name, tool.tool_name, error.message)


def _missing(part: str, asked: str) -> ValidationError:
    return ValidationError(
        f"{asked} needs {part}, and this service was made without", hint="Open the service with that part."
    )
