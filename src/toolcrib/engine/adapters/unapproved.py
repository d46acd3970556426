"""Reads a server once that nobody has approved: within the outbound rules, with no token, and not for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.errors import CallTimeout
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.upstream.outbound import check_outbound


class UnapprovedReads:
    """Fulfils `UnapprovedReader` through the discovery service, the only reader of servers."""

    def __init__(self, service: MCPDiscoveryService, *, seconds: float) -> None:
        self._service = service
        self._seconds = seconds

    async def read(self, spec: ServerSpec) -> ServerReading:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._service.read_unapproved(spec)
        except TimeoutError:
            raise CallTimeout(f"no answer within {self._seconds:g} s", server=spec.name) from None


class OutboundCheck:
    """Fulfils `UnapprovedCheck`: the address must be allowed for servers that nobody has approved, and is the only one connected to."""

    def __init__(self, configured: Callable[[], Mapping[str, ServerSpec]]) -> None:
        self._configured = configured

    async def __call__(self, spec: ServerSpec) -> ServerSpec:
        if not isinstance(spec.launch, RemoteLaunch):
            return spec
        addresses = await check_outbound(spec.launch.url, self._configured())
        return replace(spec, launch=replace(spec.launch, addresses=tuple(addresses)))
