"""Where the discovery service puts capabilities: opened on first need, for most gateways are never asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolcrib.app.capabilities import Capabilities
from toolcrib.capabilities.export import CapabilityFiles
from toolcrib.capabilities.from_tool import tool_to_manifest
from toolcrib.capabilities.manifest import Manifest
from toolcrib.capabilities.marketplace import Registered
from toolcrib.discovery.capability_desk import CapabilityDesk

Open = Callable[[], Capabilities]


def capability_desk(opened: Open, files: CapabilityFiles) -> CapabilityDesk:
    """`opened` gives the same capabilities each time; they are closed by whoever made it."""
    return CapabilityDesk(tool_to_manifest, UsableCapabilities(opened), AllCapabilities(opened), files)


class UsableCapabilities:
    """Fulfils `CapabilityRegister` with the marketplace."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened

    async def register(self, manifest: Manifest) -> Registered:
        return await asyncio.to_thread(self._opened().marketplace.register, manifest)


class AllCapabilities:
    """Fulfils `CapabilityRegister` with the catalogue."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened

    async def register(self, manifest: Manifest) -> None:
        await asyncio.to_thread(self._opened().catalogue.register, manifest)
