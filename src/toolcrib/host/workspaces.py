"""The configurations that clients see, each opened once for all clients that see it the same."""

from __future__ import annotations

import argparse
import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from toolcrib.catalog.store import GatewayRow
from toolcrib.cli.main import build_parser
from toolcrib.cli.parser import Parser
from toolcrib.config.binding import bound
from toolcrib.config.load import load_settings
from toolcrib.config.paths import home_folder
from toolcrib.config.settings import Settings
from toolcrib.connector.hello import STDIO, Hello
from toolcrib.demo.servers import demo_servers
from toolcrib.engine.engine import Engine
from toolcrib.engine.gateway_rows import running_gateways
from toolcrib.engine.open_gateway import SettingsSource, open_workspace
from toolcrib.engine.shared_settings import unused_keys
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway
from toolcrib.model.site import Site
from toolcrib.version import VERSION
from toolcrib.workspace.profiles import check_profile
from toolcrib.workspace.workspace import offered

log = logging.getLogger(__name__)


class ClientView:
    """What a client's arguments, folder and variables make of the configuration."""

    def __init__(self, hello: Hello, options: argparse.Namespace) -> None:
        folder = hello.folder or str(home_folder(hello.environment))
        self.site = Site(hello.environment, folder)
        self._path = Path(options.config) if options.config else None
        self._is_demo = bool(getattr(options, "demo", False))
        # Not part of the settings: clients with different profiles share a workspace.
        self.profile = str(options.profile)
        self.settings = Settings()
        self.processes: list[object] = []

    @classmethod
    async def of(cls, hello: Hello, options: argparse.Namespace) -> ClientView:
        """Read the configuration as that client sees it; ConfigurationError where it can't be used."""
        view = cls(hello, options)
        await asyncio.to_thread(view._load)
        return view

    def source(self) -> SettingsSource:
        return SettingsSource(self._path, self.site.env, self.settings, is_fixed=self._is_demo, site=self.site)

    def _load(self) -> None:
        env = self.site.env
        found = load_settings(self._path, env=env, cwd=Path(str(self.site.folder)), home=home_folder(env))
        check_profile(found, self.profile)
        self._is_demo = self._is_demo and not found.servers
        self.settings = replace(found, servers=demo_servers()) if self._is_demo else found
        self.processes = _processes(self.settings, self.site)


class _Open:
    """A workspace with clients in it, or that had some a while ago."""

    def __init__(self, view: ClientView, gateway: Gateway, ending: AsyncExitStack) -> None:
        self.view = view
        self.gateway = gateway
        self.ending = ending
        self.guests = 0
        self.timer: asyncio.TimerHandle | None = None
        self._compared = (view.settings, view.processes)

    def serves(self, view: ClientView) -> bool:
        """Whether that client would see the same: the same settings, and the same processes behind them."""
        settings = self.gateway.settings
        if settings != view.settings:
            return False
        if self._compared[0] is not settings:  # reloaded meanwhile
            self._compared = (settings, _processes(settings, self.view.site))
        return self._compared[1] == view.processes


class SharedWorkspaces:
    """Opens a workspace for the first client that sees it, and closes it a while after the last one left."""

    def __init__(self, engine: Engine, linger_seconds: Callable[[], float]) -> None:
        self._engine = engine
        self._linger_seconds = linger_seconds
        self._open: list[_Open] = []
        self._opening = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def opened(self, view: ClientView) -> AsyncIterator[Gateway]:
        """The gateway to the configuration as this client sees it."""
        async with self._opening:
            shared = next((one for one in self._open if one.serves(view)), None) or await self._opened(view)
            shared.guests += 1
            if shared.timer is not None:
                shared.timer.cancel()
        try:
            yield shared.gateway
        finally:
            shared.guests -= 1
            if not shared.guests:
                shared.timer = asyncio.get_running_loop().call_later(self._linger_seconds(), self._leave, shared)

    @property
    def longest_grace_seconds(self) -> float:
        """How long running calls may go on at most, by the settings of those who made them."""
        return max((shared.gateway.settings.shutdown_grace_seconds for shared in self._open), default=0.0)

    def unused_keys(self, settings: Settings) -> list[str]:
        """The settings of a workspace that have another value for the whole engine."""
        return unused_keys(settings, self._engine.settings)

    async def reload(self) -> None:
        """Read the configuration of every open workspace again; one that can't be read stays as it is."""
        for shared in list(self._open):
            try:
                await shared.gateway.reload()
            except ConfigurationError as error:
                log.warning("a configuration was not reloaded; the last good one stays in use:\n%s", error.message)

    def status(self) -> list[dict[str, Any]]:
        """The open workspaces, as plain JSON."""
        return [
            {
                "config": str(shared.gateway.settings.file or ""),
                "servers": len(shared.gateway.workspace.view.specs),
                "clients": shared.guests,
            }
            for shared in self._open
        ]

    async def running_gateways(self) -> list[GatewayRow]:
        """The gateways of this person that run now, ours among them."""
        await self._engine.own_row.renew()
        return await asyncio.to_thread(running_gateways, self._engine.store, time.time())

    async def end_session(self, session: str) -> None:
        """Stop the servers that were started for this session alone."""
        await self._engine.pool.end_session(session)

    async def close(self) -> None:
        for shared in self._open:
            if shared.timer is not None:
                shared.timer.cancel()
        await asyncio.gather(*self._closing, *(shared.ending.aclose() for shared in self._open))

    async def _opened(self, view: ClientView) -> _Open:
        ending = AsyncExitStack()
        gateway = await ending.enter_async_context(open_workspace(self._engine, view.source()))
        shared = _Open(view, gateway, ending)
        self._open.append(shared)
        return shared

    def _leave(self, shared: _Open) -> None:
        if shared.guests or shared not in self._open:
            return
        self._open.remove(shared)
        task = asyncio.create_task(shared.ending.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _processes(settings: Settings, site: Site) -> list[object]:
    return [spec.process_key for spec in bound(offered(settings), site, settings.stateful_servers)]


async def home_view(env: Mapping[str, str]) -> ClientView:
    """What a client sees that is started without arguments in the home folder."""
    hello = Hello(STDIO, VERSION, str(home_folder(env)), [], env)
    return await ClientView.of(hello, parsed_options(hello))


def parsed_options(hello: Hello) -> argparse.Namespace:
    """The options of a client that wants a server."""
    arguments = hello.arguments if "serve" in hello.arguments else [*hello.arguments, "serve"]
    return parsed(arguments)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; raises what the parser raises."""
    options: argparse.Namespace = _parser().parse_args(list(arguments))
    return options


@cache
def _parser() -> Parser:
    # Made once: that takes longer than reading a configuration.
    return build_parser("toolcrib")
