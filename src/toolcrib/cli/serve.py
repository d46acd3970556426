"""`toolcrib serve`: the gateway as an MCP server."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolcrib.adoption.own_launch import own_launch
from toolcrib.cli.exits import OK
from toolcrib.cli.greeting import Greeting
from toolcrib.cli.output import Output
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.demo.servers import demo_servers
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway
from toolcrib.server.embedded import MCPDiscoveryServer
from toolcrib.server.guard import read_or_make_token
from toolcrib.server.http import build_app, connection_limits, serve_http
from toolcrib.server.process_memory import give_back, settle
from toolcrib.telemetry.logs import log_to_stderr
from toolcrib.telemetry.loop_errors import LoopErrors

log = logging.getLogger(__name__)


def run(options: argparse.Namespace) -> int:
    log_to_stderr(verbose=options.verbose, quiet=options.quiet, env=os.environ, with_time=True)
    asyncio.run(_serve(options))
    return OK


async def _serve(options: argparse.Namespace) -> None:
    asyncio.get_running_loop().set_exception_handler(LoopErrors(time.monotonic))
    settings = _demo_settings(options) if options.demo else None
    face = "http" if options.http else "stdio"
    async with open_gateway(options.config, settings=settings, face=face, when_learnt=give_back) as gateway:
        settle()
        stop = asyncio.Event()
        _handle_signals(stop, gateway)
        server = MCPDiscoveryServer(gateway)
        if options.http:
            host = options.host or gateway.settings.http_host
            token_file = Paths.of(os.environ).token
            token = read_or_make_token(token_file)
            app = build_app(server.sdk_server, lambda: gateway.settings, host=host, token=token)
            await serve_http(
                app,
                host=host,
                port=gateway.settings.http_port if options.port is None else options.port,
                stop=stop,
                grace_seconds=lambda: gateway.settings.shutdown_grace_seconds,
                limits=lambda: connection_limits(gateway.settings),
                on_ready=lambda port: _greet(gateway.settings, f"{_in_url(host)}:{port}", token_file, options),
            )
        else:
            await server.run_stdio(stop)


def _demo_settings(options: argparse.Namespace) -> Settings | None:
    """Settings with the demo servers in them, if no other server is configured."""
    settings = load_settings(Path(options.config) if options.config else None)
    return None if settings.servers else replace(settings, servers=demo_servers())


def _handle_signals(stop: asyncio.Event, gateway: Gateway) -> None:
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = asyncio.create_task(_reload(gateway))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    if sys.platform == "win32":
        signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(stop.set))
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, reload)


async def _reload(gateway: Gateway) -> None:
    try:
        await gateway.reload()
    except ConfigurationError as error:
        log.warning("the configuration was not reloaded; the last good one stays in use:\n%s", error.message)


def _own_entry(options: argparse.Namespace) -> dict[str, Any]:
    """What a client needs to start us itself; it knows neither this shell's PATH nor its variables."""
    launch = own_launch(os.environ, Path(options.config).absolute() if options.config else None)
    demo = ["--demo"] if options.demo else []
    entry = {"command": launch.command, "args": [*launch.args, *demo], "env": dict(launch.env)}
    return {key: value for key, value in entry.items() if value}


def _greet(settings: Settings, address: str, token_file: Path, options: argparse.Namespace) -> None:
    """Standard output is the person's who started us: no protocol is spoken there."""
    names = tuple(server.name for server in settings.servers)
    greeting = Greeting(f"http://{address}{settings.http_path}", names, token_file, _own_entry(options))
    greeting.print(Output.of(options).out)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
