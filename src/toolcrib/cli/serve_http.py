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
from toolcrib.server.listening import listen


async def serve(options: argparse.Namespace, gateway: Gateway, stop: asyncio.Event) -> None:
    """Listen until `stop` is set; the person who started us is told where."""
    token_file = Paths.of(os.environ).token
    await listen(
        gateway,
        host=options.host or gateway.settings.http_host,
        port=gateway.settings.http_port if options.port is None else options.port,
        token_file=token_file,
        stop=stop,
        on_ready=lambda address: _greet(gateway.settings, address, token_file, options),
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
    greeting = Greeting(address, names, token_file, _own_entry(options))
    greeting.print(Output.of(options).out)
