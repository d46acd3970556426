"""`toolcrib serve --http`: the gateway for clients that come over HTTP."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from toolcrib.adoption.own_launch import own_launch
from toolcrib.cli.greeting import Greeting
from toolcrib.cli.output import Output
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.engine import Engine
from toolcrib.gateway import Gateway
from toolcrib.server.http import try_address
from toolcrib.server.listening import listen
from toolcrib.server.peer_face import PeerFace


async def serve(
    options: argparse.Namespace,
    gateway: Gateway,
    stop: asyncio.Event,
    *,
    peers: PeerFace,
    is_shared: bool = False,
    when_ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Listen until `stop` is set; the person who started us is told where, and whether other clients share it.

    `peers` is run by whoever calls this; here it only says who we are to them.
    """
    token_file = Paths.of(os.environ).token

    def greet(address: str) -> None:
        when_ready(address)
        # Standard output is the person's who started us: no protocol is spoken there.
        names = tuple(server.name for server in gateway.settings.servers)
        issuer = gateway.settings.http_auth_issuer
        greeting = Greeting(address, names, token_file, _own_entry(options), is_shared=is_shared, issuer=issuer)
        greeting.print(Output.of(options).out)

    host, port = _address(options, gateway.settings)
    await listen(
        gateway,
        host=host,
        port=port,
        token_file=token_file,
        stop=stop,
        on_ready=greet,
        own_peer=lambda: peers.own,
    )


async def serve_with_peers(options: argparse.Namespace, engine: Engine, gateway: Gateway, stop: asyncio.Event) -> None:
    """The same in a process that no other client shares; where no engine does it, it is there for peers too."""
    leaving = asyncio.Event()
    peers = peers_of(engine, gateway)
    meeting = asyncio.create_task(peers.run(leaving))
    try:
        await serve(options, gateway, stop, peers=peers)
    finally:
        leaving.set()
        await meeting


def peers_of(engine: Engine, gateway: Gateway) -> PeerFace:
    """Peers, as the settings of this gateway want them."""
    return PeerFace(engine, lambda: gateway.settings, lambda: nullcontext(gateway))


def check_address(options: argparse.Namespace, settings: Settings) -> None:
    """Raise ConfigurationError where clients could not be served at the address that is asked for."""
    try_address(*_address(options, settings))


def _address(options: argparse.Namespace, settings: Settings) -> tuple[str, int]:
    return options.host or settings.http_host, settings.http_port if options.port is None else options.port


def _own_entry(options: argparse.Namespace) -> dict[str, Any]:
    """What a client needs to start us itself; it knows neither this shell's PATH nor its variables."""
    launch = own_launch(os.environ, Path(options.config).absolute() if options.config else None)
    demo = ["--demo"] if options.demo else []
    entry = {"command": launch.command, "args": [*launch.args, *demo], "env": dict(launch.env)}
    return {key: value for key, value in entry.items() if value}
