"""Open an engine and gateways on it: started, kept in step with their configuration, and stopped with all they started."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.config.fixed_settings import need_restart
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.config.watch import watch_files
from toolcrib.engine.engine import Engine, Opener
from toolcrib.engine.gateway_wiring import WorkspaceCapabilities, wired_gateway
from toolcrib.engine.open_catalog import open_store
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway
from toolcrib.model.site import Site
from toolcrib.workspace.workspace import Workspace, offered, rule_book

if TYPE_CHECKING:  # only the name of a type
    from toolcrib.discovery.service import MCPDiscoveryService

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_gateway(
    config: str | Path | None = None,
    *,
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
    face: str = "library",
    opener: Opener | None = None,
    read_due: bool = True,
    when_learnt: Callable[[], None] = lambda: None,
) -> AsyncIterator[Gateway]:
    """The gateway, from a configuration file, from given settings, or from what is found on this machine.

    Everything it started is stopped when the block ends. `opener` reaches servers in another way than our transports.
    Without `env` the variables of this process count. Without `read_due` no server is read before someone needs it.
    `when_learnt` is called, in a thread, each time the search has learnt something and nothing is left.
    """
    async with open_home(
        config, settings=settings, env=env, face=face, opener=opener, read_due=read_due, when_learnt=when_learnt
    ) as (_, gateway):
        yield gateway


@asynccontextmanager
async def open_home(
    config: str | Path | None = None,
    *,
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
    face: str = "library",
    opener: Opener | None = None,
    read_due: bool = True,
    when_learnt: Callable[[], None] = lambda: None,
) -> AsyncIterator[tuple[Engine, Gateway]]:
    """The same with the engine that has only this gateway, for a face that shares more than answers with it."""
    env = os.environ if env is None else env
    path = Path(config) if config is not None else None
    chosen = settings or load_settings(path, env=env)
    async with open_engine(
        chosen, env=env, face=face, opener=opener, read_due=read_due, when_learnt=when_learnt
    ) as engine:
        source = SettingsSource(path, env, chosen, is_fixed=settings is not None)
        async with open_workspace(engine, source, is_home=True) as gateway:
            yield engine, gateway


@asynccontextmanager
async def open_discovery(
    config: str | Path | None = None,
    *,
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
    opener: Opener | None = None,
) -> AsyncIterator[MCPDiscoveryService]:
    """The discovery service on its own: nothing is read before it is asked for, and all it started ends with the block."""
    async with open_gateway(config, settings=settings, env=env, opener=opener, read_due=False) as gateway:
        yield gateway.discovery_service


@asynccontextmanager
async def open_engine(
    settings: Settings,
    *,
    env: Mapping[str, str] | None = None,
    face: str = "library",
    opener: Opener | None = None,
    read_due: bool = True,
    when_learnt: Callable[[], None] = lambda: None,
) -> AsyncIterator[Engine]:
    """The engine on its own; `settings` hold for what its workspaces share."""
    env = os.environ if env is None else env
    store = await asyncio.to_thread(open_store, Paths.of(env))
    engine = Engine(settings, env, store, face=face, opener=opener, when_learnt=when_learnt)
    try:
        await engine.start(read_due=read_due)
        yield engine
    finally:
        await engine.close()


class SettingsSource:
    """Where the settings of a workspace come from: a file that may be edited, or values that stay.

    `settings` are those of the last reading. With a `site` they are read, and their servers launched, as a client that
    stands there would; without one `env` counts for reading them, and our own process for the servers.
    """

    def __init__(
        self,
        path: Path | None,
        env: Mapping[str, str],
        settings: Settings,
        *,
        is_fixed: bool,
        site: Site | None = None,
    ) -> None:
        self._path = path
        self._env = env if site is None else site.env
        self._folder = Path(site.folder) if site is not None and site.folder is not None else None
        self.settings = settings
        self.is_fixed = is_fixed
        self.site = site

    def read(self) -> Settings:
        """The settings as they are now; raises where they can't be read, and then the last ones stay."""
        if not self.is_fixed:
            self.settings = load_settings(self._path, env=self._env, cwd=self._folder)
        return self.settings


@asynccontextmanager
async def open_workspace(engine: Engine, source: SettingsSource, *, is_home: bool = False) -> AsyncIterator[Gateway]:
    """A gateway to one configuration; that of the home workspace also holds for what the engine shares."""
    workspace = engine.new_workspace(source.settings, source.site)
    capabilities = WorkspaceCapabilities(engine, workspace)
    opened = OpenWorkspace(engine, workspace, source, is_home=is_home)
    gateway = wired_gateway(engine, workspace, capabilities, reload=opened.reload, learn=opened.learn)
    try:
        await opened.start()
        yield gateway
    finally:
        await opened.close()
        capabilities.close()


class OpenWorkspace:
    """Keeps a workspace in step with its configuration while it is open."""

    def __init__(self, engine: Engine, workspace: Workspace, source: SettingsSource, *, is_home: bool) -> None:
        self._engine = engine
        self._workspace = workspace
        self._source = source
        self._is_home = is_home
        self._stopping = asyncio.Event()
        self._reloading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to serve: nothing here waits for a server."""
        self._report(self._workspace.settings)
        await self._engine.take_in(self._workspace)
        if self._engine.reads_due:
            self._engine.indexer.start(self._tell_of_shadowed_rules)
        if not self._source.is_fixed:
            self._watching = asyncio.create_task(self._watch())
            await asyncio.sleep(0)  # let it look once, so that no edit from now on is missed

    async def close(self) -> None:
        """Stop following the configuration; what the workspace alone has started ends with it."""
        self._stopping.set()
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        if not self._is_home:  # the engine ends with its home workspace, all at once
            await self._engine.let_go(self._workspace)

    async def reload(self) -> Settings:
        """Take over an edited configuration; one that can't be read leaves everything as it was and is raised."""
        async with self._reloading:
            fresh = self._source.read()
            if fresh == self._workspace.settings:
                # Some clients rewrite their file all the time without changing a server.
                return fresh
            rules = rule_book(fresh)  # first: one that can't be read changes nothing
            self._workspace.configure(fresh, rules)
            if self._is_home:  # after the rules, which wait for no server that has to end
                await self._engine.configure(fresh)
            await self._engine.apply()
        self._report(fresh)
        log.info("configuration reloaded: %d servers", len(offered(fresh)))
        if self._is_home and (waiting := need_restart(self._engine.started_with, fresh)):
            log.warning("restart the gateway to use the new values of %s", ", ".join(waiting))
        return fresh

    async def learn(self, seconds: float) -> bool:
        """Wait until search knows what every tool means, but no longer than so many seconds; whether it does."""
        self._engine.indexer.start(self._tell_of_shadowed_rules)
        return await self._engine.indexer.settle(seconds)

    async def _watch(self) -> None:
        await watch_files(
            lambda: self._workspace.settings.watched_files,
            self._reload_quietly,
            interval_seconds=lambda: self._workspace.settings.reload_interval_seconds,
            stop=self._stopping,
        )

    async def _reload_quietly(self) -> None:
        try:
            await self.reload()
        except ConfigurationError as error:
            log.warning("the edited configuration is not used; the last good one stays in use:\n%s", error.message)
        except Exception as error:  # the next edit is noticed all the same
            is_debug = log.isEnabledFor(logging.DEBUG)
            log.warning("could not switch to the edited configuration: %r", error, exc_info=is_debug)

    def _report(self, settings: Settings) -> None:
        """Tell what is wrong with the configuration, and have a person see the files that wait for one."""
        _report(settings)
        if settings.untrusted_files:
            # Only here: hardly any folder has such a file.
            import_module("toolcrib.engine.met_files").note(self._engine.paths, settings.untrusted_files)

    def _tell_of_shadowed_rules(self) -> None:
        """Only without deny first can a rule that allows outdo one that denies: said once the tools are known."""
        if self._workspace.settings.rule_precedence != "deny":
            for warning in self._workspace.warnings():
                log.warning("%s", warning)


def _report(settings: Settings) -> None:
    for problem in settings.problems:
        log.warning("%s", problem)
    for warning in settings.warnings:
        log.warning("%s", warning)
