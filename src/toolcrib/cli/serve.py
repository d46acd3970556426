"""`toolcrib serve`: the gateway as an MCP server."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from toolcrib.cli.exits import OK
from toolcrib.config.load import load_settings
from toolcrib.config.settings import Settings
from toolcrib.demo.servers import demo_servers
from toolcrib.engine.engine import Engine
from toolcrib.engine.open_gateway import open_home
from toolcrib.errors import ConfigurationError, ValidationError
from toolcrib.gateway import Gateway
from toolcrib.server.process_memory import give_back, settle, share_memory
from toolcrib.server.stdio import serve_stdio
from toolcrib.telemetry.logs import log_to_stderr
from toolcrib.telemetry.loop_errors import LoopErrors
from toolcrib.workspace.profiles import check_profile

log = logging.getLogger(__name__)


def run(options: argparse.Namespace) -> int:
    log_to_stderr(verbose=options.verbose, quiet=options.quiet, env=os.environ, with_time=True)
    if options.http and options.profile:
        raise ValidationError(
            "--profile is for one client on standard input and output",
            hint="Over HTTP a token can have a profile: `toolcrib token create NAME --profile PROFILE`.",
        )
    share_memory()
    if not _is_engine(options):
        asyncio.run(_serve(options))
    return OK


def _is_engine(options: argparse.Namespace) -> bool:
    """Whether this process was the engine of all clients, and has ended by now."""
    if not options.http or options.in_process or sys.platform == "win32":
        return False
    # Loaded by its name: what hosts an engine knows all commands, this one included.
    return bool(import_module("toolcrib.host.foreground").serve(options))


async def _serve(options: argparse.Namespace) -> None:
    asyncio.get_running_loop().set_exception_handler(LoopErrors(time.monotonic))
    settings = _demo_settings(options) if options.demo else None
    face = "http" if options.http else "stdio"
    serve = _face(options)
    async with open_home(options.config, settings=settings, face=face, when_learnt=give_back) as (engine, gateway):
        settle()
        stop = asyncio.Event()
        handle_signals(stop.set, partial(reload_quietly, gateway))
        await serve(engine, gateway, stop)


def _face(options: argparse.Namespace) -> Callable[[Engine, Gateway, asyncio.Event], Awaitable[None]]:
    """What serves clients; the SDK is loaded for HTTP only, since it costs more than all the rest of a gateway."""
    if options.http:
        return partial(import_module("toolcrib.cli.serve_http").serve_with_peers, options)
    return partial(_serve_stdio, options.profile)


async def _serve_stdio(profile: str, _: Engine, gateway: Gateway, stop: asyncio.Event) -> None:
    check_profile(gateway.settings, profile)
    await serve_stdio(gateway, stop, profile=profile)


def _demo_settings(options: argparse.Namespace) -> Settings | None:
    """Settings with the demo servers in them, if no other server is configured."""
    settings = load_settings(Path(options.config) if options.config else None)
    return None if settings.servers else replace(settings, servers=demo_servers())


def handle_signals(stop: Callable[[], None], reload: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Ctrl+C and the end of the system stop this process, SIGHUP has it read its configuration again."""
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def start_reload() -> None:
        task = asyncio.create_task(reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    if sys.platform == "win32":
        signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(stop))
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, start_reload)


async def reload_quietly(gateway: Gateway) -> None:
    """Read the configuration again; one that can't be read is told in the log."""
    try:
        await gateway.reload()
    except ConfigurationError as error:
        log.warning("the configuration was not reloaded; the last good one stays in use:\n%s", error.message)
