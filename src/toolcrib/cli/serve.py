"""`toolcrib serve`: the gateway as an MCP server."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from toolcrib.adoption.own_launch import own_launch
from toolcrib.app.online import open_gateway
from toolcrib.cli.exits import OK
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.demo.servers import demo_servers
from toolcrib.errors import ConfigurationError
from toolcrib.gateway import Gateway
from toolcrib.server.guard import read_or_make_token
from toolcrib.server.http import build_app, serve_http
from toolcrib.server.instructions import gateway_instructions
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server
from toolcrib.server.stdio import serve_stdio
from toolcrib.server.tuning import give_back, settle
from toolcrib.telemetry.logs import log_to_stderr
from toolcrib.version import VERSION

log = logging.getLogger(__name__)


def run(options: argparse.Namespace) -> int:
    log_to_stderr(verbose=options.verbose, quiet=options.quiet, env=os.environ)
    asyncio.run(_serve(options))
    return OK


async def _serve(options: argparse.Namespace) -> None:
    settings = _demo_settings(options) if options.demo else None
    face = "http" if options.http else "stdio"
    async with open_gateway(options.config, settings=settings, face=face, when_learnt=give_back) as gateway:
        settle()
        stop = asyncio.Event()
        _handle_signals(stop, gateway)
        meta_tools = MetaTools(gateway)
        server = build_server(meta_tools, version=VERSION, instructions=gateway_instructions(gateway))
        if options.http:
            host = options.host or gateway.settings.http_host
            token_file = Paths.of(os.environ).token
            app = build_app(server, gateway.settings, host=host, token=read_or_make_token(token_file))
            await serve_http(
                app,
                host=host,
                port=gateway.settings.http_port if options.port is None else options.port,
                stop=stop,
                grace_seconds=gateway.settings.shutdown_grace_seconds,
                on_ready=lambda port: _greet(gateway.settings, host, port, token_file, _own_entry(options)),
            )
        else:
            await serve_stdio(
                server,
                meta_tools,
                stop=stop,
                grace_seconds=gateway.settings.shutdown_grace_seconds,
                max_line_bytes=gateway.settings.max_stdio_line_bytes,
            )


def _demo_settings(options: argparse.Namespace) -> Settings | None:
    """Settings with the demo servers in them, where nothing else is behind the counter."""
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
        log.warning("the configuration was not reloaded; the last good one stays:\n%s", error.message)


def _own_entry(options: argparse.Namespace) -> str:
    """What a client needs to start us itself; it knows neither this shell's PATH nor its variables."""
    launch = own_launch(os.environ, Path(options.config).absolute() if options.config else None)
    demo = ["--demo"] if options.demo else []
    entry = {"command": launch.command, "args": [*launch.args, *demo], "env": dict(launch.env)}
    return json.dumps({"mcpServers": {"toolcrib": {key: value for key, value in entry.items() if value}}})


def _greet(settings: Settings, host: str, port: int, token_file: Path, own_entry: str) -> None:
    """How to connect and what to try, for the person who started us; standard output is theirs here."""
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    url = f"http://{shown}:{port}{settings.http_path}"
    names = ", ".join(server.name for server in settings.servers) or "none yet"
    print(
        f"Toolcrib {VERSION} serves MCP at {url}\n"
        f"  behind the counter: {names}\n"
        f"  bearer token in:    {token_file}\n\n"
        "Connect a client, for example:\n"
        f'  {{"mcpServers": {{"toolcrib": {{"type": "http", "url": "{url}",\n'
        '    "headers": {"Authorization": "Bearer <the token>"}}}}\n'
        "or let the client start it, with no token needed:\n"
        f"  {own_entry}\n\n"
        'Then ask for something, such as "what time is it in Tokyo?". Ctrl+C stops.',
        flush=True,
    )
