"""The discovery service: every way to ask what servers offer, over one path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

from toolcrib.calls.chain import CallTool
from toolcrib.discovery.cache import MCPCache
from toolcrib.discovery.capability_sinks import CapabilitySinks
from toolcrib.discovery.configured import KnownServers
from toolcrib.discovery.conversion import ToolConversion
from toolcrib.discovery.lookups import Lookups, Slot
from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.parallel import AttemptFailed, Told, discover_each
from toolcrib.discovery.protocols import (
    CapabilityRegister,
    Entry,
    Manifest,
    OutputIntrospector,
    ReadingJournal,
    RegistrySearch,
    SchemaTypes,
    UnapprovedCheck,
)
from toolcrib.discovery.reads import ServerReads
from toolcrib.discovery.results import DiscoveredMCPTool, ServerOutcome, WarmStats
from toolcrib.discovery.unapproved import as_unapproved, with_auth
from toolcrib.errors import ValidationError
from toolcrib.model.reading import Identity, ListKind, ServerReading
from toolcrib.model.server import ServerSpec


class MCPDiscoveryService:
    """Discovers tools, resources and prompts of servers, configured or not; safe to use from many tasks at once.

    What a method needs and the service was made without is a ValidationError. Options are given with each call;
    without any, `options` holds.
    """

    def __init__(
        self,
        reads: ServerReads,
        cache: MCPCache,
        *,
        options: DiscoveryOptions | Callable[[], DiscoveryOptions] | None = None,
        configured: Callable[[], Sequence[ServerSpec]] = tuple,
        journal: ReadingJournal | None = None,
        registry: RegistrySearch | None = None,
        capabilities: CapabilitySinks | None = None,
        types: SchemaTypes | None = None,
        introspector: OutputIntrospector | None = None,
        call_tool: CallTool | None = None,
        allow_private_addresses: bool = False,
        check_unapproved: UnapprovedCheck | None = None,
    ) -> None:
        self.cache = cache
        self._options = options
        self._registry = registry
        self._capabilities = capabilities or CapabilitySinks()
        self._conversion = ToolConversion(types, introspector)
        self._known = KnownServers(configured, allow_private=allow_private_addresses)
        self._lookups = Lookups(
            reads,
            cache,
            self._conversion,
            self._known,
            journal=journal,
            call_tool=call_tool,
            check_unapproved=check_unapproved,
        )
        self._auth_headers: Mapping[str, str] | None = None

    # -- the same service with another part

    def with_auth_headers(self, headers: Mapping[str, str]) -> Self:
        """A service that signs in with these headers wherever a call names none."""
        return self._changed(_auth_headers=dict(headers))

    def with_marketplace(self, marketplace: CapabilityRegister) -> Self:
        return self._changed(_capabilities=replace(self._capabilities, marketplace=marketplace))

    def with_catalog(self, catalog: CapabilityRegister) -> Self:
        return self._changed(_capabilities=replace(self._capabilities, catalog=catalog))

    def _changed(self, **parts: object) -> Self:
        other = copy(self)
        vars(other).update(parts)
        return other

    @property
    def options(self) -> DiscoveryOptions:
        """What holds where a call gives no options."""
        return self._options() if callable(self._options) else self._options or DiscoveryOptions()

    # -- one server

    async def discover_tools(
        self, config: ServerSpec, options: DiscoveryOptions | None = None
    ) -> list[DiscoveredMCPTool]:
        """The tools of a server, from the cache where that is asked for; raises what kept us from them."""
        return await self._discover(config, options or self.options, None)

    async def discover_resources(
        self, config: ServerSpec, options: DiscoveryOptions | None = None
    ) -> list[Mapping[str, Any]]:
        """The resources of a server as it describes them; none where it has no notion of them."""
        return await self._list(config, "resources", options or self.options)

    async def discover_prompts(
        self, config: ServerSpec, options: DiscoveryOptions | None = None
    ) -> list[Mapping[str, Any]]:
        """The prompts of a server as it describes them; none where it has no notion of them."""
        return await self._list(config, "prompts", options or self.options)

    async def read_unapproved(self, config: ServerSpec, options: DiscoveryOptions | None = None) -> ServerReading:
        """What a server that nobody has approved says of itself and its tools; nothing is cached or written down.

        It is reached as one of a registry would be: by its address only, and told nothing.
        """
        if not self._known.may_visit(config):
            raise ValidationError(
                f"{config.name} is not visited: it is a program, or inside our own network",
                hint="Only a person can add such a server: `toolcrib add`.",
            )
        return await self._lookups.reading(as_unapproved(config), options or self.options)

    def identity(self, config: ServerSpec) -> Identity | None:
        """How a server introduced itself when this service last read it: its info, capabilities and instructions."""
        return self._lookups.identity(config)

    # -- several servers

    async def discover_servers(
        self,
        servers: Sequence[ServerSpec],
        options: DiscoveryOptions | None = None,
        *,
        started: Callable[[ServerSpec], None] = lambda _: None,
        attempt_failed: AttemptFailed = lambda *_: None,
        finished: Told = lambda _: None,
    ) -> list[ServerOutcome]:
        """What became of each server, in the order given; a failing one fails alone, and a deadline gives what is there."""
        chosen = options or self.options
        self._capabilities.check(chosen)
        return await discover_each(
            servers,
            lambda spec, slot: self._discover(spec, chosen, slot),
            most_at_once=chosen.max_parallel_discoveries,
            deadline_seconds=chosen.deadline_seconds,
            started=started,
            attempt_failed=attempt_failed,
            finished=finished,
        )

    async def warm_cache_for_servers(
        self,
        servers: Sequence[ServerSpec],
        options: DiscoveryOptions | None = None,
        *,
        started: Callable[[ServerSpec], None] = lambda _: None,
        attempt_failed: AttemptFailed = lambda *_: None,
        finished: Told = lambda _: None,
    ) -> WarmStats:
        """Have the tools of these servers in the cache, without calling any of them."""
        chosen = replace(
            options or self.options, use_cache=True, introspect_output_schemas=False, lazy_output_schemas=True
        )
        outcomes = await self.discover_servers(
            servers, chosen, started=started, attempt_failed=attempt_failed, finished=finished
        )
        failed = sum(outcome.error is not None for outcome in outcomes)
        tools = sum(len(outcome.tools) for outcome in outcomes)
        return WarmStats(len(outcomes), len(outcomes) - failed, failed, tools)

    async def warm_cache_for_all_configured_servers(self, options: DiscoveryOptions | None = None) -> WarmStats:
        return await self.warm_cache_for_servers(self._known.servers(), options)

    # -- the registry

    async def search_registry_for_capability(self, query: str, use_cache: bool = True) -> list[Entry]:
        """The registry's servers for a query, as it describes them."""
        if self._registry is None:
            raise ValidationError("this service was made without a registry", hint="Open the service with one.")
        if use_cache and (kept := await asyncio.to_thread(self.cache.get_registry, query)) is not None:
            return kept
        found = list(await self._registry.search(query))
        await asyncio.to_thread(self.cache.store_registry, query, found)
        return found

    async def find_servers_for_capability(self, name: str, options: DiscoveryOptions | None = None) -> list[ServerSpec]:
        """Configured servers that seem to provide a capability; only where there is none, those of the registry."""
        local = self._known.matching(name)
        if local or self._registry is None:
            return local
        return await self._from_registry(name, options or self.options)

    async def discover_from_registry(
        self, query: str, options: DiscoveryOptions | None = None
    ) -> list[tuple[ServerSpec, list[DiscoveredMCPTool]]]:
        """The servers the registry names for a query, with their tools; those that give none are left out.

        A server that is configured here too is reached as it is configured. Others are only visited from outside:
        no program is started, and nothing of this machine is told to them.
        """
        chosen = options or self.options
        outcomes = await self.discover_servers(await self._from_registry(query, chosen), chosen)
        return [(outcome.config, list(outcome.tools)) for outcome in outcomes if outcome.tools]

    # -- capabilities

    def tool_to_manifest(self, tool: DiscoveredMCPTool, config: ServerSpec) -> Manifest:
        """The tool as a capability."""
        return self._capabilities.manifest(tool, config)

    def resource_to_manifest(self, resource: Mapping[str, Any], config: ServerSpec) -> Manifest:
        """A resource, as `discover_resources` gives it, as a capability."""
        return self._capabilities.resource_manifest(resource, config)

    async def register_capability(self, manifest: Manifest) -> None:
        """Enter a capability in the marketplace and in the catalog."""
        await self._capabilities.register(manifest)

    # -- inside

    async def _from_registry(self, query: str, options: DiscoveryOptions) -> list[ServerSpec]:
        entries = await self.search_registry_for_capability(query, options.use_cache and not options.force_refresh)
        made = (self._registry.server_config(entry) for entry in entries) if self._registry else ()
        return self._known.for_visit(spec for spec in made if spec is not None)

    async def _discover(
        self, config: ServerSpec, options: DiscoveryOptions, slot: Slot | None
    ) -> list[DiscoveredMCPTool]:
        self._capabilities.check(options)
        records = await self._lookups.tools(self._signed_in(config, options), options, slot)
        tools = self._conversion.tools(records)
        await self._capabilities.take_in(tools, config, options)
        return tools

    async def _list(self, config: ServerSpec, kind: ListKind, options: DiscoveryOptions) -> list[Mapping[str, Any]]:
        return list((await self._lookups.items(self._signed_in(config, options), kind, options)).items)

    def _signed_in(self, config: ServerSpec, options: DiscoveryOptions) -> ServerSpec:
        launched = self._known.as_launched(config)
        return with_auth(launched, self._auth_headers if options.auth_headers is None else options.auth_headers)
