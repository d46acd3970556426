"""An open gateway, served over HTTP on an address of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from importlib import import_module
from pathlib import Path

from toolcrib.config.paths import Paths
from toolcrib.gateway import Gateway
from toolcrib.peers.store import PeerStore
from toolcrib.server.embedded import MCPDiscoveryServer
from toolcrib.server.guard import read_or_make_token
from toolcrib.server.http import build_app, connection_limits, serve_http
from toolcrib.server.peer_pages import OwnPeer, PeerPages


async def listen(
    gateway: Gateway,
    *,
    host: str,
    port: int,
    token_file: Path,
    stop: asyncio.Event,
    on_ready: Callable[[str], None],
    own_peer: Callable[[], OwnPeer | None] = lambda: None,
) -> None:
    """Serve clients that hold the token until `stop` is set; `on_ready` gets the address once they can come.

    `own_peer` is who we are to peers, while this process speaks to them.
    """
    token = read_or_make_token(token_file)
    sdk_server = MCPDiscoveryServer(gateway).sdk_server
    path = gateway.settings.http_path
    await serve_http(
        build_app(
            sdk_server,
            lambda: gateway.settings,
            host=host,
            token=token,
            more_routes=PeerPages(gateway, _peer_store, own_peer).routes(),
        ),
        host=host,
        port=port,
        stop=stop,
        grace_seconds=lambda: gateway.settings.shutdown_grace_seconds,
        limits=lambda: connection_limits(gateway.settings),
        on_ready=lambda port: on_ready(f"http://{_in_url(host)}:{port}{path}"),
    )


def _peer_store() -> AbstractContextManager[PeerStore]:
    # Loaded with the first question: most people have no peers.
    sqlite_peers = import_module("toolcrib.storage.sqlite_peers")
    return closing(sqlite_peers.SqlitePeers(Paths.of(os.environ).catalog))


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
