"""Looking for MCP servers at addresses that a person listed: few requests, none repeated, and nothing beyond the list."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from toolcrib.errors import ToolcribError
from toolcrib.model.peer import PeerAddress, Sighting
from toolcrib.model.peer_address import scanned_addresses
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import FROM_PROPOSAL, Origin, RemoteLaunch, ServerSpec, Transport

log = logging.getLogger(__name__)

MOST_PORTS_AT_ONCE = 4
HEALTH_PATH = "/health"
_PATHS: tuple[tuple[str, Transport], ...] = (("/mcp", "http"), ("/sse", "sse"))


class AddressLook(Protocol):
    """What is at an address. Each look is one request, without any credential."""

    async def is_open(self, address: PeerAddress) -> bool:
        """Whether anybody listens there; most ports of a list are closed, and are asked no more than this."""

    async def speaks_http(self, url: str) -> bool:
        """Whether anything answers at this address, whatever it answers."""

    async def read(self, spec: ServerSpec) -> ServerReading:
        """What a server says of itself and its tools; raises ToolcribError where none is there."""

    async def peer(self, address: PeerAddress) -> Sighting | None:
        """The peer at this address, where one is there."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """An MCP server that answered: how it is reached, and what it told."""

    spec: ServerSpec
    address: PeerAddress
    reading: ServerReading


class AddressScan:
    """Goes through listed addresses once, one after the other; what it finds is handed on, and never used from here."""

    def __init__(
        self,
        look: AddressLook,
        *,
        found: Callable[[FoundServer], Awaitable[None]],
        seen: Callable[[Sighting], None],
        is_configured: Callable[[PeerAddress], bool],
    ) -> None:
        self._look = look
        self._found = found
        self._seen = seen
        self._is_configured = is_configured

    async def run(self, entries: Iterable[str]) -> None:
        """Look at each entry, such as `192.0.2.10:8080-8090`."""
        for entry in entries:
            await self._scan(entry, scanned_addresses(entry))

    async def _scan(self, entry: str, addresses: Sequence[PeerAddress]) -> None:
        at_once = asyncio.Semaphore(MOST_PORTS_AT_ONCE)

        async def visit(address: PeerAddress) -> bool:
            async with at_once:
                return await self._visit(address)

        async with asyncio.TaskGroup() as visits:
            tasks = [visits.create_task(visit(one)) for one in addresses if not self._is_configured(one)]
        if not any(task.result() for task in tasks):
            log.info("peers.scan: nothing new was found at %s", entry)

    async def _visit(self, address: PeerAddress) -> bool:
        """Whether something was found."""
        try:
            return await self._look.is_open(address) and (
                await self._is_peer(address) or await self._is_server(address)
            )
        except ToolcribError as problem:
            log.warning("peers.scan: %s can't be proposed: %s", address, problem.message)
        except Exception:
            log.exception("peers.scan: looking at %s failed unexpectedly", address)
        return False

    async def _is_peer(self, address: PeerAddress) -> bool:
        sighting = await self._look.peer(address)
        if sighting is not None:
            self._seen(sighting)
        return sighting is not None

    async def _is_server(self, address: PeerAddress) -> bool:
        for scheme in ("https", "http"):
            if await self._look.speaks_http(f"{scheme}://{address}{HEALTH_PATH}"):
                return await self._is_mcp(f"{scheme}://{address}", address)
        return False

    async def _is_mcp(self, base: str, address: PeerAddress) -> bool:
        for path, transport in _PATHS:
            launch = RemoteLaunch(f"{base}{path}", transport=transport)
            spec = ServerSpec(f"{address.host}-{address.port}", launch, origin=Origin(FROM_PROPOSAL))
            try:
                reading = await self._look.read(spec)
            except ToolcribError as problem:
                log.debug("peers.scan: no MCP at %s: %s", launch.url, problem.message)
                continue
            await self._found(FoundServer(spec, address, reading))
            return True
        return False
