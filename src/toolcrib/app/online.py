"""The whole gateway, wired: the one place that knows every class."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from toolcrib.app.capabilities import Capabilities, audited, capability_files, open_capabilities
from toolcrib.app.discovering import call_limit, discovery_options, open_cache
from toolcrib.app.from_settings import audit_file, connection_policy, link_opener, result_files
from toolcrib.app.offline import Offline, offered, open_offline
from toolcrib.app.presence import Presence
from toolcrib.app.registry import open_hints
from toolcrib.app.service_capabilities import capability_desk
from toolcrib.app.service_registry import ServiceRegistry
from toolcrib.app.service_types import OutputSchemas, published_type
from toolcrib.app.strangers import OutboundCheck, Strangers
from toolcrib.app.study import Study
from toolcrib.calls.admit import Admit
from toolcrib.calls.audit import Audit
from toolcrib.calls.built_in import BuiltIn
from toolcrib.calls.chain import CallTool, build_chain
from toolcrib.calls.check import CheckArguments
from toolcrib.calls.introspect import Introspector
from toolcrib.calls.learning import Learner
from toolcrib.calls.limit import LimitConcurrency
from toolcrib.calls.observe import Observe
from toolcrib.calls.proposing import IntrospectServer
from toolcrib.calls.rate import LimitRate
from toolcrib.calls.retry import Retry
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.config.watch import watch_files
from toolcrib.discovery.background import Discovery
from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.reads import ConfiguredReads, ServerReads
from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway
from toolcrib.limits.rate import RateLimiter
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.reading import Identity
from toolcrib.model.server import BUILT_IN_SERVER, ServerSpec
from toolcrib.schema.validate import ArgumentChecker
from toolcrib.storage.memory_buckets import MemoryBuckets
from toolcrib.upstream.link import Link, NotificationHandler
from toolcrib.upstream.pool import Pool

log = logging.getLogger(__name__)


class Opener(Protocol):
    """Opens a link to a server; closed after the last of them."""

    async def __call__(self, spec: ServerSpec, on_notification: NotificationHandler) -> Link: ...

    async def close(self) -> None: ...


@asynccontextmanager
async def open_gateway(
    config: str | Path | None = None,
    *,
    settings: Settings | None = None,
    env: Mapping[str, str] = os.environ,
    face: str = "library",
    opener: Opener | None = None,
    read_due: bool = True,
) -> AsyncIterator[Gateway]:
    """The gateway, from a configuration file, from given settings, or from what is found on this machine.

    Everything it started is stopped when the block ends. `opener` reaches servers in another way than our transports.
    Without `read_due` no server is read before someone needs it.
    """
    path = Path(config) if config is not None else None
    online = Online(settings or load_settings(path, env=env), path, env, face, opener, is_fixed=settings is not None)
    try:
        await online.start(read_due=read_due)
        yield online.gateway
    finally:
        await online.close()


@asynccontextmanager
async def open_discovery(
    config: str | Path | None = None,
    *,
    settings: Settings | None = None,
    env: Mapping[str, str] = os.environ,
    opener: Opener | None = None,
) -> AsyncIterator[MCPDiscoveryService]:
    """The discovery service on its own: nothing is read before it is asked for, and all it started ends with the block."""
    async with open_gateway(config, settings=settings, env=env, opener=opener, read_due=False) as gateway:
        yield gateway.discovery_service


class Online:
    """Holds the parts while the gateway is open, and exchanges them on reload."""

    def __init__(
        self,
        settings: Settings,
        path: Path | None,
        env: Mapping[str, str],
        face: str,
        opener: Opener | None,
        *,
        is_fixed: bool,
    ) -> None:
        self.settings = settings
        self._path = path
        self._env = env
        self._is_fixed = is_fixed
        self._face = face
        self._paths = Paths.of(env)
        self._offline = open_offline(settings, self._paths)
        self._opener = opener or link_opener(settings, self._paths, env)
        self._pool = Pool(
            self._opener,
            connection_policy(settings),
            known_identity=self._offline.stock.identity,
            on_connected=self._connected,
            on_tools_changed=self._tools_changed,
        )
        owner = secrets.token_hex(8)
        self._limiter = RateLimiter(MemoryBuckets(time.monotonic))
        self._reads = ServerReads(self._pool, self._limiter)
        self._cache = open_cache(settings, self._paths)
        self._discovery = Discovery(
            self._offline.stock,
            self._offline.store,
            ConfiguredReads(self._reads, lambda: self._offline.stock.specs, self._options),
            owner=owner,
            max_parallel=settings.max_parallel_discoveries,
            now=time.time,
            always_reread=not settings.cache_enabled,
            # The catalogue knows better from now on.
            on_read=self._cache.clear_server,
        )
        self._presence = Presence(self._offline.store, owner, face, self._statuses)
        self._stopping = asyncio.Event()
        self._reloading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._study = Study(self._offline.stock)
        self._audit = audit_file(settings, self._paths)
        self._hints = open_hints(settings, self._paths, partial(asyncio.get_running_loop().run_in_executor, None))
        self._registry = ServiceRegistry(lambda: self.settings, self._paths, self._limiter)
        self._capabilities: Capabilities | None = None
        self._learner = Learner(self._offline.store, is_enabled=lambda: self.settings.learn_shapes, now=time.time)
        self.gateway = self._gateway(self._offline)

    async def start(self, *, read_due: bool = True) -> None:
        """Begin to serve: nothing here waits for a server."""
        _report(self.settings)
        await self._pool.configure(offered(self.settings), connection_policy(self.settings))
        self._presence.start()
        if read_due:
            self._discovery.refresh_due()
            self._study.start(self._tell_of_shadowed_rules)
        if not self._is_fixed:
            self._watching = asyncio.create_task(
                watch_files(
                    lambda: self.settings.watched_files,
                    self._reload_quietly,
                    interval_seconds=self.settings.reload_interval_seconds,
                    stop=self._stopping,
                )
            )
            await asyncio.sleep(0)  # let it look once, so that no edit from now on is missed

    async def _learn(self, seconds: float) -> bool:
        self._study.start(self._tell_of_shadowed_rules)
        return await self._study.settle(seconds)

    def _tell_of_shadowed_rules(self) -> None:
        """Only without deny first can a rule that allows outdo one that denies: said once the tools are known."""
        if self.settings.rule_precedence != "deny":
            for warning in self._offline.stock.warnings:
                log.warning("%s", warning)

    async def close(self) -> None:
        """Stop everything that was started; children are gone when this returns."""
        self._stopping.set()
        await self._study.close()
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        await self._discovery.close()
        await self._pool.close()
        await self._opener.close()
        await self._presence.close()
        await self._learner.close()
        if self._capabilities is not None:
            self._capabilities.close()
        self._offline.store.close()
        self._registry.close()
        if self._hints is not None:
            self._hints.close()

    async def reload(self) -> Settings:
        """Take over an edited configuration; one that can't be read leaves everything as it was and is raised."""
        if self._is_fixed:
            return self.settings
        async with self._reloading:
            fresh = load_settings(self._path, env=self._env)
            if fresh == self.settings:
                # Some clients rewrite their file all the time without changing a server.
                return fresh
            self._offline.configure(fresh)
            self.settings = fresh
            self._discovery.configure(
                max_parallel=fresh.max_parallel_discoveries, always_reread=not fresh.cache_enabled
            )
            self._cache.tool_ttl_seconds = fresh.tool_cache_ttl_seconds
            self._cache.registry_ttl_seconds = fresh.registry_cache_ttl_seconds
            await self._pool.configure(offered(fresh), connection_policy(fresh))
            self._discovery.refresh_due()
        _report(fresh)
        log.info("configuration reloaded: %d servers", len(offered(fresh)))
        return fresh

    async def _reload_quietly(self) -> None:
        try:
            await self.reload()
        except ConfigurationError as error:
            log.warning("the edited configuration is not used; the last good one stays:\n%s", error.message)

    def _gateway(self, offline: Offline) -> Gateway:
        shelf = result_files(self.settings, self._paths)
        built_in = BuiltIn(offline.stock, shelf, {"introspect_server": self._introspect_server})

        async def call_tool(call: ToolCall) -> ToolResult:
            return await (built_in.call(call) if call.server == BUILT_IN_SERVER else self._pool.call(call))

        chained = self._chain(offline, call_tool)
        introspector = Introspector(offline.stock, offline.store, chained, inputs=self._inputs, now=time.time)
        return Gateway(
            stock=offline.stock,
            discovery=self._discovery,
            discovery_service=self._service(chained, introspector),
            statuses=self._pool,
            call_tool=chained,
            introspector=introspector,
            shelf=shelf,
            settings=lambda: self.settings,
            reload=self.reload,
            learn=self._learn,
            hints=self._hints,
        )

    async def _introspect_server(self, call: ToolCall) -> ToolResult:
        strangers = Strangers(self.gateway.discovery_service, seconds=self.settings.call_timeout_seconds)
        return await IntrospectServer(self._opened_capabilities().review, strangers)(call)

    def _opened_capabilities(self) -> Capabilities:
        """Opened on first need: most gateways are never asked."""
        if self._capabilities is None:
            tell = audited(self._audit, self._face)
            self._capabilities = open_capabilities(self._offline, self._paths, configured=self._configured, tell=tell)
        return self._capabilities

    def _inputs(self) -> Mapping[str, Mapping[str, Any]]:
        return self.settings.introspection_inputs

    def _configured(self) -> dict[str, ServerSpec]:
        return {spec.name: spec for spec in self.settings.servers}

    def _service(self, call_tool: CallTool, introspector: Introspector) -> MCPDiscoveryService:
        return MCPDiscoveryService(
            self._reads,
            self._cache,
            options=self._options,
            configured=lambda: tuple(self._offline.stock.specs.values()),
            journal=self._discovery,
            registry=self._registry,
            capabilities=capability_desk(self._opened_capabilities, capability_files(self._paths)),
            types=published_type,
            introspector=OutputSchemas(self._offline.stock, introspector, self._inputs),
            call_tool=call_tool,
            # Where a stranger may be reached is decided by the check, which knows what the person has configured.
            allow_private_addresses=True,
            check_stranger=OutboundCheck(self._configured),
        )

    def _options(self) -> DiscoveryOptions:
        return discovery_options(self.settings)

    def _chain(self, offline: Offline, call_tool: CallTool) -> CallTool:
        return build_chain(
            [
                Audit(self._audit, now=time.time, monotonic=time.monotonic),  # outermost: refusals are recorded too
                Admit(offline.stock, self._discovery),
                CheckArguments(ArgumentChecker(), self.settings.max_nesting),
                LimitConcurrency(lambda: self.settings.max_calls),  # after the checks: a refused call holds no place
                Retry(),
                LimitRate(self._limiter, lambda: call_limit(self.settings)),  # every attempt spends the server's quota
                Observe(self._learner),  # innermost: learns only from what servers really answered
            ],
            call_tool,
        )

    def _connected(self, server: str, identity: Identity) -> None:
        """A server that came back may have changed: its list is looked up anew, another version is read again."""
        known = self._offline.stock.identity(server)
        self._offline.stock.drop_shelf(server)
        if known is not None and _differ(known, identity):
            self._discovery.refresh(server)

    def _tools_changed(self, server: str) -> None:
        self._discovery.changed(server)

    def _statuses(self) -> dict[str, str]:
        return {name: self._pool.status(name).state for name in self._offline.stock.specs}


def _differ(known: Identity, met: Identity) -> bool:
    return known.era != met.era or known.server_info.get("version") != met.server_info.get("version")


def _report(settings: Settings) -> None:
    for problem in settings.problems:
        log.warning("%s", problem)
    for warning in settings.warnings:
        log.warning("%s", warning)
