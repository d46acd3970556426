"""What one server offers: from the cache where it may answer, else by a visit, and then written down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from toolcrib.calls.chain import CallTool
from toolcrib.discovery.cache import MCPCache
from toolcrib.discovery.configured import KnownServers
from toolcrib.discovery.conversion import Record, ToolConversion
from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.protocols import ReadingJournal, UnapprovedCheck, Visit
from toolcrib.discovery.reads import ServerReads, endpoint_of
from toolcrib.errors import ToolcribError
from toolcrib.model.reading import Identity, ListKind, ServerListing, ServerReading
from toolcrib.model.server import FROM_REGISTRY, ServerSpec
from toolcrib.model.tool_naming import public_name

log = logging.getLogger(__name__)

_MOST_IDENTITIES = 1_000

T = TypeVar("T")
Slot = AbstractAsyncContextManager[object]


class Lookups:
    """Knows the order of things for one server; what is about several servers is not decided here."""

    def __init__(
        self,
        reads: ServerReads,
        cache: MCPCache,
        conversion: ToolConversion,
        known: KnownServers,
        *,
        journal: ReadingJournal | None,
        call_tool: CallTool | None,
        check_unapproved: UnapprovedCheck | None,
    ) -> None:
        self._reads = reads
        self._cache = cache
        self._conversion = conversion
        self._known = known
        self._journal = journal
        self._call_tool = call_tool
        self._check_unapproved = check_unapproved
        self._identities: dict[str, Identity] = {}

    async def tools(self, spec: ServerSpec, options: DiscoveryOptions, slot: Slot | None = None) -> list[Record]:
        """The records of a server's tools; what is read is cached, and a failure is written down and raised."""
        kept = await self._cached(spec, options)
        if kept is not None:
            return kept
        try:
            records = await self._visit(spec, lambda visit: self._read(visit, spec, options), options, slot)
        except ToolcribError as error:
            if self._journal is not None:
                await self._journal.keep_failure(spec, error)
            raise
        await asyncio.to_thread(self._cache.store_tools, spec.name, records, _fingerprint(spec))
        return records

    async def items(self, spec: ServerSpec, kind: ListKind, options: DiscoveryOptions) -> ServerListing:
        """Everything of one kind that a server has."""
        listing = await self._visit(spec, lambda visit: visit.list_items(kind), options)
        self._met(spec, listing.identity)
        _report(spec, listing.warnings)
        return listing

    async def reading(self, spec: ServerSpec, options: DiscoveryOptions) -> ServerReading:
        """What a server says of itself and its tools; neither cached nor written down."""
        return await self._visit(spec, lambda visit: visit.read(), options)

    def identity(self, spec: ServerSpec) -> Identity | None:
        """How a server introduced itself at its last visit."""
        return self._identities.get(endpoint_of(spec))

    async def _cached(self, spec: ServerSpec, options: DiscoveryOptions) -> list[Record] | None:
        if not options.use_cache or options.force_refresh:
            return None
        if self._journal is not None:
            await self._journal.catch_up()
        return await asyncio.to_thread(self._cache.get_tools, spec.name, _fingerprint(spec))

    async def _visit(
        self,
        spec: ServerSpec,
        work: Callable[[Visit], Awaitable[T]],
        options: DiscoveryOptions,
        slot: Slot | None = None,
    ) -> T:
        if spec.origin.source == FROM_REGISTRY and self._check_unapproved is not None:
            spec = await self._check_unapproved(spec)
        return await self._reads.visiting(spec, work, options, slot)

    async def _read(self, visit: Visit, spec: ServerSpec, options: DiscoveryOptions) -> list[Record]:
        reading = await visit.read()
        self._met(spec, reading.identity)
        if self._journal is None or not await self._journal.keep(spec, reading):
            _report(spec, reading.warnings)
        records = self._conversion.records(reading.tools)
        if options.calls_tools and spec.origin.source != FROM_REGISTRY:
            return await self._conversion.learn(records, spec, self._calls_to(spec, visit))
        return records

    def _calls_to(self, spec: ServerSpec, visit: Visit) -> CallTool:
        """A configured server's tools are called as agents call them: under the rules, with a line in the audit log."""
        through_gateway = self._call_tool
        if through_gateway is None or not self._known.has(spec):
            return visit.call
        return lambda call: through_gateway(call.but(tool=public_name(call.tool, spec)))

    def _met(self, spec: ServerSpec, identity: Identity) -> None:
        self._identities[endpoint_of(spec)] = identity
        if len(self._identities) > _MOST_IDENTITIES:
            del self._identities[next(iter(self._identities))]


def _fingerprint(spec: ServerSpec) -> str:
    """How a server is reached. One that nobody configured so may say other things, though its launch is the same."""
    return f"{spec.origin.source} {spec.launch_key}" if spec.is_foreign else spec.launch_key


def _report(spec: ServerSpec, warnings: Iterable[str]) -> None:
    for warning in warnings:
        log.warning("%s: %s", spec.name, warning)
