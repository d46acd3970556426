"""The process of a shared engine, from its log file to its end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from pathlib import Path

from toolcrib.cli.exits import OK
from toolcrib.config.paths import Paths
from toolcrib.connector.engine_main import Claim
from toolcrib.engine.open_gateway import open_engine
from toolcrib.host.engine_host import EngineHost
from toolcrib.host.home_settings import HomeSettings
from toolcrib.host.http_face import HttpFace
from toolcrib.host.workspaces import SharedWorkspaces
from toolcrib.server.process_memory import give_back, settle
from toolcrib.telemetry.logs import log_to_stderr
from toolcrib.telemetry.loop_errors import LoopErrors

log = logging.getLogger(__name__)

FACE = "engine"
MOST_LOG_BYTES = 2_000_000


def run(claim: Claim) -> int:
    """Serve clients until there is no need to; the exit code."""
    _log_to(Paths.of(os.environ).engine_log)
    log_to_stderr(verbose=1, quiet=False, env=os.environ, with_time=True)
    asyncio.run(_serve(claim))
    return OK


def _log_to(file: Path) -> None:
    """Let everything this process says go to its log; the older half is kept beside it."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if file.exists() and file.stat().st_size > MOST_LOG_BYTES:
        file.replace(file.with_name(f"{file.name}.1"))
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


async def _serve(claim: Claim) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(LoopErrors(time.monotonic))
    home = HomeSettings(os.environ)

    def idle_seconds() -> float:
        return home.settings.engine_idle_stop_seconds

    async with open_engine(home.settings, env=os.environ, face=FACE, when_learnt=give_back) as engine:
        settle()
        workspaces = SharedWorkspaces(engine, idle_seconds)
        host = EngineHost(claim, workspaces, lambda: None if face.address else idle_seconds())
        face = HttpFace(workspaces, lambda: home.settings, os.environ, host.look_again)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, host.stop)
        following = asyncio.create_task(home.follow(engine, face.look_again))
        listening = asyncio.create_task(face.run(host.leaving))
        log.info("the engine runs")
        try:
            await host.run()
            await listening
        finally:
            following.cancel()
            await workspaces.close()
            await asyncio.gather(following, return_exceptions=True)
    log.info("the engine has ended")
