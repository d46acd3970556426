"""A gateway that is open: started, kept in step with its configuration, and stopped with all it started."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from toolcrib.config.load import load_settings
from toolcrib.config.settings import Settings
from toolcrib.config.watch import watch_files
from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.engine.gateway_parts import GatewayParts, Opener
from toolcrib.engine.gateway_wiring import wired_gateway
from toolcrib.engine.offline import offered
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway

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
    Without `env` the variables of this process count. Without `read_due` no server is read before someone needs it. `when_learnt` is called, in a thread, each time the search
    has learnt something and nothing is left.
    """
    env = os.environ if env is None else env
    path = Path(config) if config is not None else None
    parts = GatewayParts(settings or load_settings(path, env=env), env, face, opener, when_learnt)
    online = Online(parts, path, env, is_fixed=settings is not None)
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
    env: Mapping[str, str] | None = None,
    opener: Opener | None = None,
) -> AsyncIterator[MCPDiscoveryService]:
    """The discovery service on its own: nothing is read before it is asked for, and all it started ends with the block."""
    async with open_gateway(config, settings=settings, env=env, opener=opener, read_due=False) as gateway:
        yield gateway.discovery_service


class Online:
    """Runs the parts while the gateway is open, and takes over an edited configuration."""

    def __init__(self, parts: GatewayParts, path: Path | None, env: Mapping[str, str], *, is_fixed: bool) -> None:
        self._parts = parts
        self._path = path
        self._env = env
        self._is_fixed = is_fixed
        self._stopping = asyncio.Event()
        self._reloading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self.gateway = wired_gateway(parts, reload=self.reload, learn=self._learn)

    async def start(self, *, read_due: bool = True) -> None:
        """Begin to serve: nothing here waits for a server."""
        _report(self._parts.settings)
        await self._parts.connect_configured()
        self._parts.presence.start()
        if read_due:
            self._parts.refresher.refresh_due()
            self._parts.indexer.start(self._tell_of_shadowed_rules)
        if not self._is_fixed:
            self._watching = asyncio.create_task(self._watch())
            await asyncio.sleep(0)  # let it look once, so that no edit from now on is missed

    async def close(self) -> None:
        """Stop everything that was started; children are gone when this returns."""
        self._stopping.set()
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        await self._parts.close()

    async def reload(self) -> Settings:
        """Take over an edited configuration; one that can't be read leaves everything as it was and is raised."""
        if self._is_fixed:
            return self._parts.settings
        async with self._reloading:
            fresh = load_settings(self._path, env=self._env)
            if fresh == self._parts.settings:
                # Some clients rewrite their file all the time without changing a server.
                return fresh
            await self._parts.configure(fresh)
        _report(fresh)
        log.info("configuration reloaded: %d servers", len(offered(fresh)))
        return fresh

    async def _watch(self) -> None:
        await watch_files(
            lambda: self._parts.settings.watched_files,
            self._reload_quietly,
            interval_seconds=self._parts.settings.reload_interval_seconds,
            stop=self._stopping,
        )

    async def _reload_quietly(self) -> None:
        try:
            await self.reload()
        except ConfigurationError as error:
            log.warning("the edited configuration is not used; the last good one stays:\n%s", error.message)
        except Exception as error:  # the next edit is noticed all the same
            is_debug = log.isEnabledFor(logging.DEBUG)
            log.warning("the edited configuration could not be taken over: %r", error, exc_info=is_debug)

    async def _learn(self, seconds: float) -> bool:
        self._parts.indexer.start(self._tell_of_shadowed_rules)
        return await self._parts.indexer.settle(seconds)

    def _tell_of_shadowed_rules(self) -> None:
        """Only without deny first can a rule that allows outdo one that denies: said once the tools are known."""
        if self._parts.settings.rule_precedence != "deny":
            for warning in self._parts.offline.view.warnings:
                log.warning("%s", warning)


def _report(settings: Settings) -> None:
    for problem in settings.problems:
        log.warning("%s", problem)
    for warning in settings.warnings:
        log.warning("%s", warning)
