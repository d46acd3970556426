"""One server seen through the discovery service."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.protocols import Manifest
from toolcrib.discovery.results import DiscoveredMCPTool
from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.model.server import ServerSpec


class MCPDiscoveryProvider:
    """What one server offers, as tools or as capabilities; signs in with `auth_headers` where they are given.

    The service is not its own: several providers share one, and whoever opened it closes it.
    """

    def __init__(
        self,
        service: MCPDiscoveryService,
        config: ServerSpec,
        *,
        auth_headers: Mapping[str, str] | None = None,
        options: DiscoveryOptions | None = None,
    ) -> None:
        self.config = config
        self._service = service if auth_headers is None else service.with_auth_headers(auth_headers)
        self._options = options

    async def discover_tools(self) -> list[DiscoveredMCPTool]:
        """The tools of the server; raises what kept us from them."""
        return await self._service.discover_tools(self.config, self._options)

    async def discover_capabilities(self) -> list[Manifest]:
        """The same tools as manifests."""
        return [self._service.tool_to_manifest(tool, self.config) for tool in await self.discover_tools()]
