"""Where the discovery service puts capabilities: opened on first need, for most gateways are never asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolcrib.approvals.approvals import ProposalRequest
from toolcrib.approvals.proposal import Proposal
from toolcrib.ccos.export import CapabilityFiles
from toolcrib.ccos.from_resource import resource_to_manifest
from toolcrib.ccos.from_tool import tool_to_manifest
from toolcrib.ccos.manifest import Manifest
from toolcrib.ccos.marketplace import Registered
from toolcrib.discovery.capability_sinks import CapabilitySinks
from toolcrib.discovery.results import DiscoveredMCPTool
from toolcrib.engine.capabilities import Capabilities
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool_naming import public_name
from toolcrib.workspace.catalog_view import CatalogView

Open = Callable[[], Capabilities]


def capability_sinks(opened: Open, files: CapabilityFiles, view: CatalogView) -> CapabilitySinks:
    """`opened` gives the same capabilities each time; they are closed by whoever made it.

    `view` tells what configured servers call themselves, and what of theirs a person has to look at first.
    """

    def to_manifest(tool: DiscoveredMCPTool, config: ServerSpec) -> Manifest:
        return tool_to_manifest(tool, config, view.own_name(config.name))

    def waits(tool: DiscoveredMCPTool, config: ServerSpec) -> bool:
        found = view.find(config.name, public_name(tool.tool_name, config))
        return found is not None and found.availability.hides_words

    return CapabilitySinks(
        to_manifest,
        UsableCapabilities(opened),
        AllCapabilities(opened),
        files,
        resource_to_manifest,
        RegistryProposals(opened),
        waits,
    )


class UsableCapabilities:
    """Fulfils `CapabilityRegister` with the marketplace."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened

    async def register(self, manifest: Manifest) -> Registered:
        return await asyncio.to_thread(self._opened().marketplace.register, manifest)


class AllCapabilities:
    """Fulfils `CapabilityRegister` with the catalog."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened

    async def register(self, manifest: Manifest) -> None:
        await asyncio.to_thread(self._opened().catalog.register, manifest)


class RegistryProposals:
    """Fulfils `ServerProposals` with the requests that a person approves or rejects."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened

    async def propose(self, config: ServerSpec, definitions: Sequence[Mapping[str, Any]]) -> Proposal:
        request = ProposalRequest(
            name=config.name,
            launch=config.launch,
            source=f"registry {config.title}".strip(),
            description=config.description,
            definitions=definitions,
        )
        return await asyncio.to_thread(self._opened().review.propose, request, "discovery")
