"""The engine: what a process has once, however many configurations are seen through it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from toolcrib.built_in.definitions import BUILT_IN_TOOLS
from toolcrib.calls.heard_audit import HeardAudit
from toolcrib.calls.limit_callers import LimitCallers
from toolcrib.calls.limit_concurrency import LimitConcurrency
from toolcrib.calls.output_shapes import OutputShapes
from toolcrib.calls.running_calls import RunningCalls
from toolcrib.catalog.followed import FollowedCatalog
from toolcrib.catalog.store import CatalogStore
from toolcrib.config.fixed_settings import fixed_values
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.discovery.catalog_tools import CatalogTools
from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.reads import ConfiguredReads, ServerReads
from toolcrib.discovery.refresher import CatalogRefresher
from toolcrib.engine.figures import EngineFigures
from toolcrib.engine.from_settings import (
    audit_file,
    caller_limit,
    connection_policy,
    discovery_options,
    freshness,
    link_opener,
    open_cache,
    result_files,
)
from toolcrib.engine.indexer import Indexer
from toolcrib.engine.late_peers import LatePeers
from toolcrib.engine.late_registry import LateRegistry
from toolcrib.engine.late_review import LateReview
from toolcrib.engine.late_routes import LateRoutes
from toolcrib.engine.own_row import OwnGatewayRow
from toolcrib.engine.session_sign_ins import SessionSignIns
from toolcrib.engine.state_key import StateKey
from toolcrib.errors import StoreUnavailable
from toolcrib.limits.rate import RateLimiter
from toolcrib.limits.room import Room
from toolcrib.model.asking import QuestionKind
from toolcrib.model.peer import FROM_PEER
from toolcrib.model.reading import Identity
from toolcrib.model.server import ServerSpec
from toolcrib.model.site import Site
from toolcrib.storage.memory_buckets import MemoryBuckets
from toolcrib.upstream.link import Link, LinkEars
from toolcrib.upstream.pool import Pool
from toolcrib.workspace.search_index import SearchIndex
from toolcrib.workspace.workspace import Workspace

log = logging.getLogger(__name__)

# How soon what another process wrote into the catalog is taken over here.
FOLLOW_SECONDS = 1.0


class Opener(Protocol):
    """Opens a link to a server; closed after the last of them."""

    async def __call__(self, spec: ServerSpec, ears: LinkEars) -> Link: ...

    async def close(self) -> None: ...


class Engine:
    """FollowedCatalog, search index, connections, limits, audit log and results, shared by all its workspaces.

    `settings` are those of the configuration that it was opened with; a workspace brings its own for what it shows.
    """

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        store: CatalogStore,
        *,
        face: str = "library",
        opener: Opener | None = None,
        when_learnt: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = settings
        self.face = face
        self.paths = Paths.of(env)
        self._site = Site(env)
        self.store = store
        self.catalog = FollowedCatalog(store, now=time.time, fresh_seconds=settings.cache_ttl_seconds)
        self.index = SearchIndex(store, path=self.paths.search_index, max_tools=settings.max_indexed_tools)
        self.workspaces: list[Workspace] = []
        self.peer_routes = LateRoutes(lambda: self.settings, self.paths)
        self._opener = opener or link_opener(
            lambda: self.settings, self.paths, env, self.peer_routes, self._configuration
        )
        self.pool = self._opened_pool()
        owner = secrets.token_hex(8)
        self.limiter = RateLimiter(MemoryBuckets(time.monotonic))
        self.reads = ServerReads(self.pool, self.limiter)
        known = CatalogTools(self.catalog, self.entries, lambda: freshness(self.settings))
        self.cache = open_cache(settings, self.paths, known)
        self.audit = audit_file(settings, self.paths)
        self.review = LateReview(lambda: self.settings, self.catalog, self.paths, self.audit, face)
        self.refresher = self._opened_refresher(owner)
        # All of them are about HTTP, so nobody has to start a gateway on standard input and output again for them; the
        # engine that clients share listens anew.
        self.started_with = {} if face in ("stdio", "engine") else fixed_values(settings)
        self.own_row = OwnGatewayRow(
            store, owner, face, self._statuses, users=self._users, started_with=self.started_with
        )
        self.indexer = Indexer(self.index, lambda: [one.search for one in self.workspaces], when_learnt)
        self.results = result_files(settings, self.paths)
        self.registry = LateRegistry(lambda: self.settings, self.paths, self.limiter)
        self.output_shapes = OutputShapes(store, is_enabled=lambda: self.settings.learn_shapes, now=time.time)
        self.running_calls = RunningCalls(time.time)
        self.heard_audit = HeardAudit(self.audit)
        self.figures = EngineFigures(self.heard_audit, lambda: self.running_calls, self._statuses)
        self.state_key = StateKey(self.paths.state_key)
        self.parked = Room(lambda: self.settings.max_parked_calls)
        self.session_sign_ins = SessionSignIns(lambda: self.settings, self.paths, env)
        self.limit_concurrency = LimitConcurrency(lambda: self.settings.max_calls)
        self.limit_callers = LimitCallers(
            self.limiter, lambda: caller_limit(self.settings), lambda: self.settings.http_caller_calls
        )
        self.catalog.want(lambda: self.specs().values())
        self.catalog.call_on_change(self.indexer.notice)
        self.reads_due = False
        self.peers = LatePeers(lambda: self.settings, self.paths)
        self._follow_now = asyncio.Event()
        self._noting: set[asyncio.Task[None]] = set()
        self._following: asyncio.Task[None] | None = None

    def _configuration(self) -> set[Path]:
        """The files that decide what is started, for whichever workspace."""
        every = (self.settings, *(workspace.settings for workspace in self.workspaces))
        return {file for settings in every for file in settings.watched_files}

    def entries(self) -> list[ServerSpec]:
        """The entries that some workspace shows."""
        return [spec for workspace in self.workspaces for spec in workspace.view.specs.values()]

    def specs(self) -> dict[str, ServerSpec]:
        """The servers that some workspace shows, by launch key; of several entries for one the first counts."""
        return {spec.launch_key: spec for spec in reversed(self.entries())}

    def options(self) -> DiscoveryOptions:
        """How servers are read, by the settings."""
        return discovery_options(self.settings)

    async def start(self, *, read_due: bool = True) -> None:
        """Begin to follow the catalog, and with `read_due` to read what is due and to index it; waits for no server."""
        self.reads_due = read_due
        await self.own_row.start()
        self._following = asyncio.create_task(self._follow(), name="follow the catalog")

    async def take_in(self, workspace: Workspace) -> None:
        """See another configuration through this engine."""
        self.workspaces.append(workspace)
        await self.apply()

    async def let_go(self, workspace: Workspace) -> None:
        """Stop seeing a configuration; servers that only it showed are stopped."""
        self.workspaces.remove(workspace)
        workspace.close()
        await self.apply()

    async def configure(self, settings: Settings) -> None:
        """Let other settings hold for what is shared, from now on."""
        self.settings = settings
        self.catalog.configure(fresh_seconds=settings.cache_ttl_seconds)
        self.index.configure(max_tools=settings.max_indexed_tools)
        self.refresher.configure(
            max_parallel=settings.max_parallel_discoveries,
            freshness=freshness(settings),
            always_reread=not settings.cache_enabled,
        )
        self.cache.configure(
            tool_ttl_seconds=settings.tool_cache_ttl_seconds,
            registry_ttl_seconds=settings.registry_cache_ttl_seconds,
        )
        self.audit.configure(max_bytes=settings.audit_max_bytes, files=settings.audit_files)
        self.results.configure(
            keep_seconds=settings.result_ttl_seconds, max_total_bytes=settings.max_stored_result_bytes
        )
        self.registry.configure(settings)
        await self.pool.configure(connection_policy(settings))

    async def apply(self) -> None:
        """Bring everything in line with what the workspaces show now."""
        await self._show_peers()
        # First: an edited entry shows what its former launch had, and only what was marked counts as former.
        await asyncio.to_thread(_mark_gone, self.store, set(self.specs()))
        await self.catalog.follow()
        await self.pool.serve(self.entries())
        await asyncio.to_thread(self.cache.drop_files_of, self.entries())
        self.indexer.notice()
        if self.reads_due:
            self.refresher.refresh_due()

    def look_again(self) -> None:
        """Take over soon what was written into the catalog."""
        self._follow_now.set()

    def new_workspace(self, settings: Settings, site: Site | None = None) -> Workspace:
        """One configuration's view of what this engine has; `take_in` opens it.

        Its servers are launched for a client that stands at `site`; without one, for our own process.
        """
        return Workspace(
            settings,
            self.catalog,
            self.index,
            site=site or self._site,
            built_in=BUILT_IN_TOOLS,
            found=self.peers.overlay,
        )

    async def close(self) -> None:
        """Stop everything that was started; children are gone when this returns."""
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following
        await self.indexer.close()
        await self.refresher.close()
        await self.pool.close()
        await self._opener.close()
        await asyncio.gather(*self._noting)
        await self.own_row.close()
        await self.output_shapes.close()
        self.audit.close()
        self.store.close()
        self.review.close()
        self.registry.close()
        self.peers.close()
        self.peer_routes.close()

    def _opened_pool(self) -> Pool:
        return Pool(
            self._opener,
            connection_policy(self.settings),
            known_identity=self.catalog.identity,
            on_connected=self._connected,
            on_tools_changed=self._tools_changed,
            known_asks=self.catalog.asks,
            on_asks=self._asks,
            looks_first=self._looks_first,
        )

    def _opened_refresher(self, owner: str) -> CatalogRefresher:
        return CatalogRefresher(
            self.catalog,
            ConfiguredReads(self.reads, self.options),
            self.specs,
            owner=owner,
            max_parallel=self.settings.max_parallel_discoveries,
            freshness=freshness(self.settings),
            always_reread=not self.settings.cache_enabled,
            review=self.review,
        )

    async def _follow(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(FOLLOW_SECONDS):
                    await self._follow_now.wait()
            self._follow_now.clear()
            try:
                await self.catalog.follow()
                if await self._show_peers():
                    await self.apply()
            except Exception as trouble:  # the next look may succeed
                is_debug = log.isEnabledFor(logging.DEBUG)
                log.warning("the catalog could not be followed: %r", trouble, exc_info=is_debug)

    async def _show_peers(self) -> bool:
        """Take over which peers are trusted and there, where a workspace shows them; whether anything changed."""
        if any(workspace.settings.peers_enabled for workspace in self.workspaces):
            await self.peers.follow(self.catalog.snapshot.token)
        changed = [workspace for workspace in self.workspaces if workspace.show_found()]
        if changed:  # at once: what is shown can be called
            await self.pool.serve(self.entries())
        return bool(changed)

    def _connected(self, spec: ServerSpec, identity: Identity) -> None:
        """What is known of a server that came back is looked up anew; one that is another version by now is read again."""
        self.catalog.doubt(spec)
        self._follow_now.set()
        known = self.catalog.identity(spec)
        if known is not None and _differ(known, identity):
            if self.review.on_change(spec) == "review":
                self.refresher.expire(spec)  # the next call waits until it is known what changed
            self.refresher.refresh(spec)

    def _looks_first(self, spec: ServerSpec) -> bool:
        """Whether a server that is started for a call is compared with what is known of it before the call is sent."""
        is_peer = spec.origin.source == FROM_PEER  # which is held to the card that was agreed to
        return not is_peer and self.review.on_change(spec) == "review" and self.catalog.was_read(spec)

    def _tools_changed(self, spec: ServerSpec) -> None:
        # Otherwise what changed could be called for a moment as if it had not.
        self.refresher.changed(spec, expires=self.review.on_change(spec) == "review")

    def _asks(self, spec: ServerSpec, kind: QuestionKind) -> None:
        if kind not in self.catalog.asks(spec):
            noting = asyncio.create_task(self.catalog.note_asks(spec, kind))
            self._noting.add(noting)
            noting.add_done_callback(self._noting.discard)

    def _statuses(self) -> dict[str, str]:
        states = [(spec.launch_key, self.pool.status(spec).state) for spec in self.entries()]
        return dict(sorted(states, key=lambda one: one[1] == "connected"))

    def _users(self) -> dict[str, dict[str, int]]:
        """Who uses each server; workspaces that share a process are counted once."""
        users: dict[str, Counter[str]] = {}
        for spec in {spec.process_key: spec for spec in self.entries()}.values():
            users.setdefault(spec.launch_key, Counter()).update(self.pool.users(spec))
        return {key: dict(names) for key, names in users.items() if names}


def _differ(known: Identity, met: Identity) -> bool:
    return known.era != met.era or known.server_info.get("version") != met.server_info.get("version")


def _mark_gone(store: CatalogStore, shown: Iterable[str]) -> None:
    """What is known of servers that left the configuration stays, marked as stale."""
    try:
        records = store.servers()
        gone = [key for key, record in records.items() if key not in shown and not record.stale]
        back = [key for key, record in records.items() if key in shown and record.stale]
        if gone:
            store.mark_stale(gone)
        if back:
            store.mark_stale(back, stale=False)
    except StoreUnavailable as trouble:
        log.warning("the catalog could not be updated: %s", trouble.message)
