"""The parts of an open gateway: opened from the settings, changed with them, closed in the order they need."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from toolcrib.calls.output_shapes import OutputShapes
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.reads import ConfiguredReads, ServerReads
from toolcrib.discovery.refresher import CatalogRefresher
from toolcrib.engine.adapters.registry import ServiceRegistry
from toolcrib.engine.capabilities import Capabilities, audited, open_capabilities
from toolcrib.engine.discovery_settings import discovery_options, open_cache
from toolcrib.engine.from_settings import audit_file, connection_policy, link_opener
from toolcrib.engine.gateway_rows import Presence
from toolcrib.engine.indexer import Indexer
from toolcrib.engine.offline import offered, open_offline
from toolcrib.engine.registry import open_hints
from toolcrib.limits.rate import RateLimiter
from toolcrib.model.reading import Identity
from toolcrib.model.server import ServerSpec
from toolcrib.storage.memory_buckets import MemoryBuckets
from toolcrib.upstream.link import Link, NotificationHandler
from toolcrib.upstream.pool import Pool


class Opener(Protocol):
    """Opens a link to a server; closed after the last of them."""

    async def __call__(self, spec: ServerSpec, on_notification: NotificationHandler) -> Link: ...

    async def close(self) -> None: ...


class GatewayParts:
    """Everything a gateway works with; `settings` are those that hold now."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        face: str,
        opener: Opener | None,
        when_learnt: Callable[[], None],
    ) -> None:
        self.settings = settings
        self.paths = Paths.of(env)
        self.offline = open_offline(settings, self.paths)
        self._face = face
        self._opener = opener or link_opener(settings, self.paths, env)
        self.pool = Pool(
            self._opener,
            connection_policy(settings),
            known_identity=self.offline.view.identity,
            on_connected=self._connected,
            on_tools_changed=self._tools_changed,
        )
        owner = secrets.token_hex(8)
        self.limiter = RateLimiter(MemoryBuckets(time.monotonic))
        self.reads = ServerReads(self.pool, self.limiter)
        self.cache = open_cache(settings, self.paths)
        self.refresher = self._opened_refresher(owner)
        self.presence = Presence(self.offline.store, owner, face, self._statuses)
        self.indexer = Indexer(self.offline.view, when_learnt)
        self.audit = audit_file(settings, self.paths)
        self.hints = open_hints(settings, self.paths, partial(asyncio.get_running_loop().run_in_executor, None))
        self.registry = ServiceRegistry(lambda: self.settings, self.paths, self.limiter)
        self.output_shapes = OutputShapes(
            self.offline.store, is_enabled=lambda: self.settings.learn_shapes, now=time.time
        )
        self._capabilities: Capabilities | None = None

    def _opened_refresher(self, owner: str) -> CatalogRefresher:
        return CatalogRefresher(
            self.offline.view,
            self.offline.store,
            ConfiguredReads(self.reads, lambda: self.offline.view.specs, self.options),
            owner=owner,
            max_parallel=self.settings.max_parallel_discoveries,
            now=time.time,
            always_reread=not self.settings.cache_enabled,
            # The catalog knows better from now on.
            on_read=self.cache.clear_server,
        )

    def capabilities(self) -> Capabilities:
        """Opened on first need: most gateways are never asked."""
        if self._capabilities is None:
            tell = audited(self.audit, self._face)
            self._capabilities = open_capabilities(self.offline, self.paths, configured=self.configured, tell=tell)
        return self._capabilities

    def configured(self) -> dict[str, ServerSpec]:
        """The servers of the configuration by their names."""
        return {spec.name: spec for spec in self.settings.servers}

    def options(self) -> DiscoveryOptions:
        """How servers are read, by the settings."""
        return discovery_options(self.settings)

    async def connect_configured(self) -> None:
        """Tell the pool which servers there are now."""
        await self.pool.configure(offered(self.settings), connection_policy(self.settings))

    async def configure(self, fresh: Settings) -> None:
        """Let other settings hold from now on."""
        self.offline.configure(fresh)
        self.settings = fresh
        self.refresher.configure(max_parallel=fresh.max_parallel_discoveries, always_reread=not fresh.cache_enabled)
        self.cache.tool_ttl_seconds = fresh.tool_cache_ttl_seconds
        self.cache.registry_ttl_seconds = fresh.registry_cache_ttl_seconds
        await self.connect_configured()
        self.refresher.refresh_due()

    async def close(self) -> None:
        """Stop everything that was started; children are gone when this returns."""
        await self.indexer.close()
        await self.refresher.close()
        await self.pool.close()
        await self._opener.close()
        await self.presence.close()
        await self.output_shapes.close()
        if self._capabilities is not None:
            self._capabilities.close()
        self.offline.store.close()
        self.registry.close()
        if self.hints is not None:
            self.hints.close()

    def _connected(self, server: str, identity: Identity) -> None:
        """A server that came back may have changed: its list is looked up anew, another version is read again."""
        known = self.offline.view.identity(server)
        self.offline.view.drop_tools(server)
        if known is not None and _differ(known, identity):
            self.refresher.refresh(server)

    def _tools_changed(self, server: str) -> None:
        self.refresher.changed(server)

    def _statuses(self) -> dict[str, str]:
        return {name: self.pool.status(name).state for name in self.offline.view.specs}


def _differ(known: Identity, met: Identity) -> bool:
    return known.era != met.era or known.server_info.get("version") != met.server_info.get("version")
