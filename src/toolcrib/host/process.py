"""The process of a shared engine, from its log file to its end."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolcrib.cli.exits import OK
from toolcrib.cli.serve import handle_signals
from toolcrib.config.paths import Paths
from toolcrib.connector.control import retire_others
from toolcrib.connector.engine_main import Claim
from toolcrib.engine.engine import Engine
from toolcrib.engine.open_gateway import open_engine
from toolcrib.gateway import Gateway
from toolcrib.host.engine_host import EngineHost
from toolcrib.host.engine_log import EngineLog
from toolcrib.host.home_settings import HomeSettings
from toolcrib.host.http_face import HttpFace
from toolcrib.host.workspaces import SharedWorkspaces, home_view
from toolcrib.server.peer_face import PeerFace
from toolcrib.server.process_memory import give_back, settle, share_memory
from toolcrib.telemetry.logs import log_to_stderr
from toolcrib.telemetry.loop_errors import LoopErrors

log = logging.getLogger(__name__)

FACE = "engine"


def run(claim: Claim) -> int:
    """Serve clients until there is no need to; the exit code."""
    engine_log = EngineLog(Paths.of(os.environ).engine_log)
    engine_log.open()
    log_to_stderr(verbose=1, quiet=False, env=os.environ, with_time=True)
    share_memory()
    asyncio.run(_serve(claim, engine_log))
    return OK


async def _serve(claim: Claim, engine_log: EngineLog) -> None:
    asyncio.get_running_loop().set_exception_handler(LoopErrors(time.monotonic))
    home = HomeSettings(os.environ)
    async with open_engine(home.settings, env=os.environ, face=FACE, when_learnt=give_back) as engine:
        settle()
        trimming = asyncio.create_task(engine_log.keep_short())
        try:
            await EngineProcess(engine, home, claim).run()
        finally:
            trimming.cancel()
    log.info("the engine has ended")


class EngineProcess:
    """What runs in the process of a shared engine, beside the engine itself."""

    def __init__(self, engine: Engine, home: HomeSettings, claim: Claim) -> None:
        self._engine = engine
        self._home = home
        self._claim = claim
        self._workspaces = SharedWorkspaces(engine, lambda: home.settings.engine_idle_stop_seconds)
        self._host = EngineHost(engine, claim, self._workspaces, self._idle_seconds, lambda: self._http.address)
        self._http = HttpFace(
            self._workspaces, lambda: home.settings, os.environ, self._host.look_again, lambda: self._peers.own
        )
        self._peers = PeerFace(engine, lambda: home.settings, self._opened_home, self._host.look_again)
        home.when_edited = self._http.look_again

    async def run(self) -> None:
        """Serve until the host is told to stop, or nobody needs it."""
        handle_signals(self._host.stop, self._reload)
        following = asyncio.create_task(self._home.follow(self._engine))
        listening = asyncio.create_task(self._http.run(self._host.leaving))
        meeting = asyncio.create_task(self._peers.run(self._host.leaving))
        retiring = asyncio.create_task(asyncio.to_thread(retire_others, self._claim.place))
        log.info("the engine runs")
        try:
            await self._host.run()
            await asyncio.gather(listening, meeting)
        finally:
            following.cancel()
            await self._workspaces.close()
            await asyncio.gather(following, retiring, return_exceptions=True)

    def _idle_seconds(self) -> float | None:
        """How long nobody may be there; for ever while it serves HTTP, or peers may come."""
        is_needed = self._http.address or self._peers.address
        return None if is_needed else self._home.settings.engine_idle_stop_seconds

    @asynccontextmanager
    async def _opened_home(self) -> AsyncIterator[Gateway]:
        async with self._workspaces.opened(await home_view(os.environ)) as gateway:
            yield gateway

    async def _reload(self) -> None:
        await self._home.take_over(self._engine)
        await self._workspaces.reload()
