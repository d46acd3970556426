"""`toolcrib serve --http`: the gateway for clients that come over HTTP."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path
from typing import Any

from toolcrib.adoption.own_launch import own_launch
from toolcrib.cli.greeting import Greeting
from toolcrib.cli.output import Output
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.gateway import Gateway
from toolcrib.server.embedded import MCPDiscoveryServer
from toolcrib.server.guard import read_or_make_token
from toolcrib.server.http import build_app, connection_limits, serve_http


async def serve(options: argparse.Namespace, gateway: Gateway, stop: asyncio.Event) -> None:
    """Listen until `stop` is set; the person who started us is told where."""
    host = options.host or gateway.settings.http_host
    token_file = Paths.of(os.environ).token
    token = read_or_make_token(token_file)
    sdk_server = MCPDiscoveryServer(gateway).sdk_server
    await serve_http(
        build_app(sdk_server, lambda: gateway.settings, host=host, token=token),
        host=host,
        port=gateway.settings.http_port if options.port is None else options.port,
        stop=stop,
        grace_seconds=lambda: gateway.settings.shutdown_grace_seconds,
        limits=lambda: connection_limits(gateway.settings),
        on_ready=lambda port: _greet(gateway.settings, f"{_in_url(host)}:{port}", token_file, options),
    )


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
