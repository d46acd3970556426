"""`peers.scan`: the addresses that a person listed are looked at once, and what is there waits for approval."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from toolcrib.approvals.approvals import ProposalRequest
from toolcrib.built_in.introspect_server import told_description, told_facts
from toolcrib.ccos.review import Review
from toolcrib.discovery.reads import ServerReads
from toolcrib.discovery.unapproved import as_unapproved
from toolcrib.engine.engine import Engine
from toolcrib.errors import ApprovalRefused, CallTimeout, ToolcribError
from toolcrib.lan.scan import AddressScan, FoundServer
from toolcrib.limits.retry import RetryPolicy
from toolcrib.model.peer import PeerAddress, Sighting
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.upstream.web import WebReader, open_web
from toolcrib.version import VERSION

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
READ_SECONDS = 10.0
_SOURCE = "scan"
_MOST_HEALTH_BYTES = 1024
_USUAL_PORTS = {"http": 80, "https": 443}

MeetPeer = Callable[[PeerAddress], Awaitable[Sighting | None]]
"""The peer at an address, or None; whoever it is, nothing of it is believed but its id."""


async def no_peer(_: PeerAddress) -> None:
    """Where peers are not looked for, nobody is one."""


class ListedAddresses:
    """Scans what is new in the list each time it is given; belongs to the event loop. `close` ends a scan that runs."""

    def __init__(
        self,
        engine: Engine,
        review: Callable[[], Review],
        *,
        configured: Callable[[], Mapping[str, ServerSpec]],
        meet: MeetPeer = no_peer,
        seen: Callable[[Sighting], None] = lambda _: None,
    ) -> None:
        self._engine = engine
        self._review = review
        self._configured = configured
        self._meet = meet
        self._seen = seen
        self._listed: tuple[str, ...] = ()
        self._scanning: set[asyncio.Task[None]] = set()

    def configure(self, entries: Sequence[str]) -> None:
        """Take a list; an entry that was in the last one is not looked at again."""
        new = tuple(entry for entry in dict.fromkeys(entries) if entry not in self._listed)
        self._listed = tuple(entries)
        if new:
            task = asyncio.create_task(self._scan(new), name="scan listed addresses")
            self._scanning.add(task)
            task.add_done_callback(self._scanning.discard)

    async def settle(self) -> None:
        """Wait until nothing is being scanned."""
        while self._scanning:
            await asyncio.wait(set(self._scanning))

    async def close(self) -> None:
        running = list(self._scanning)
        for task in running:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*running, return_exceptions=True)

    async def _scan(self, entries: Sequence[str]) -> None:
        async with open_web(
            user_agent=f"toolcrib/{VERSION}",
            connect_seconds=LOOK_SECONDS,
            seconds=LOOK_SECONDS,
            max_bytes=_MOST_HEALTH_BYTES,
        ) as web:
            look = _Look(web, self._engine, self._meet)
            scan = AddressScan(look, found=self._propose, seen=self._seen, is_configured=self._is_configured)
            await scan.run(entries)

    async def _propose(self, found: FoundServer) -> None:
        request = ProposalRequest(
            name=found.spec.name,
            launch=found.spec.launch,
            source=_SOURCE,
            description=told_description(found.reading),
            note=f"it answered at {found.address}, which peers.scan lists",
            definitions=found.reading.tools,
            server_info=told_facts(found.reading),
        )
        try:
            proposal = await asyncio.to_thread(self._review().propose, request, _SOURCE)
        except ApprovalRefused as refused:
            log.info("peers.scan: %s: %s", found.address, refused.message)
            return
        log.warning(
            "peers.scan: an MCP server was found at %s; look at it: toolcrib approvals show %s",
            found.address,
            proposal.id,
        )

    def _is_configured(self, address: PeerAddress) -> bool:
        return address in {_address_of(spec) for spec in self._configured().values()}


class _Look:
    """Fulfils `AddressLook`; servers are read as those are that nobody approved, but for where they may be."""

    def __init__(self, web: WebReader, engine: Engine, meet: MeetPeer) -> None:
        self._web = web
        self._reads: ServerReads = engine.reads
        self._options = replace(engine.options(), retry_policy=RetryPolicy(max_retries=0))
        self._meet = meet

    async def is_open(self, address: PeerAddress) -> bool:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                _, writer = await asyncio.open_connection(address.host, address.port)
        except OSError:  # a timeout is one too
            return False
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True

    async def speaks_http(self, url: str) -> bool:
        try:
            await self._web.get(url, {})
        except ToolcribError as problem:
            log.debug("peers.scan: %s: %s", url, problem.message)
            return False
        return True

    async def read(self, spec: ServerSpec) -> ServerReading:
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._reads.visiting(as_unapproved(spec), lambda visit: visit.read(), self._options)
        except TimeoutError:
            raise CallTimeout(f"no answer within {READ_SECONDS:g} s", server=spec.name) from None

    async def peer(self, address: PeerAddress) -> Sighting | None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._meet(address)
        except (ToolcribError, TimeoutError):
            return None


def _address_of(spec: ServerSpec) -> PeerAddress | None:
    """Where a configured server is, if its address has a literal host."""
    if not isinstance(spec.launch, RemoteLaunch):
        return None
    try:
        parts = urlsplit(spec.launch.url)
        return PeerAddress(parts.hostname or "", parts.port or _USUAL_PORTS.get(parts.scheme, 0))
    except ValueError:
        return None
