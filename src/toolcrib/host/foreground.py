"""`toolcrib serve --http` as the engine itself: clients on pipes and commands share it while it runs."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from toolcrib.cli.serve import handle_signals, reload_quietly
from toolcrib.config.load import load_settings
from toolcrib.connector.control import retire_others
from toolcrib.connector.engine_main import Claim
from toolcrib.connector.hello import STDIO, own_hello
from toolcrib.connector.take_place import NotTaken, take_place
from toolcrib.engine.engine import Engine
from toolcrib.engine.open_gateway import open_engine, open_workspace
from toolcrib.gateway import Gateway
from toolcrib.host.engine_host import EngineHost
from toolcrib.host.workspaces import ClientView, SharedWorkspaces
from toolcrib.server.peer_face import PeerFace
from toolcrib.server.process_memory import give_back, settle
from toolcrib.telemetry.loop_errors import LoopErrors
from toolcrib.version import VERSION

log = logging.getLogger(__name__)

FACE = "http"


def serve(options: argparse.Namespace) -> bool:
    """Be the engine until somebody stops it; False where this process has to be a gateway for HTTP clients alone."""
    settings = load_settings(Path(options.config) if options.config else None)
    if not settings.engine_enabled:
        return False
    serve_http = import_module("toolcrib.cli.serve_http")
    if not settings.engine_http:  # else it may be the engine in the background that has the address now
        serve_http.check_address(options, settings)
    try:
        claim = take_place(os.environ)
    except NotTaken as reason:
        log.warning("this gateway serves HTTP alone; clients on standard input and output do not share it: %s", reason)
        return False
    try:
        asyncio.run(_serve(claim, options, partial(serve_http.serve, options, is_shared=True), serve_http.peers_of))
    finally:
        claim.give_up()
    return True


async def _serve(
    claim: Claim,
    options: argparse.Namespace,
    serve_http: Callable[..., Awaitable[None]],
    peers_of: Callable[[Engine, Gateway], PeerFace],
) -> None:
    asyncio.get_running_loop().set_exception_handler(LoopErrors(time.monotonic))
    view = await ClientView.of(own_hello(STDIO, VERSION, []), options)
    addresses: list[str] = []
    async with (
        open_engine(view.settings, env=os.environ, face=FACE, when_learnt=give_back) as engine,
        open_workspace(engine, view.source(), is_home=True) as gateway,
    ):
        settle()
        workspaces = SharedWorkspaces(engine, lambda: gateway.settings.engine_idle_stop_seconds)
        host = EngineHost(engine, claim, workspaces, lambda: None, lambda: "".join(addresses), makes_way=False)
        handle_signals(partial(host.stop, handing_over=True), partial(reload_quietly, gateway))
        hosting = asyncio.create_task(host.run())
        peers = peers_of(engine, gateway)
        meeting = asyncio.create_task(peers.run(host.leaving))
        retiring = asyncio.create_task(asyncio.to_thread(retire_others, claim.place))
        try:
            await serve_http(gateway, host.leaving, peers=peers, when_ready=addresses.append)
        finally:
            if not host.leaving.is_set():
                host.stop(handing_over=True)
            await asyncio.gather(hosting, meeting, retiring)
            await workspaces.close()
