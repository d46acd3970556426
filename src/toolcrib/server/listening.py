"""An open gateway, served over HTTP on an address of this machine."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from importlib import import_module
from pathlib import Path

from toolcrib.config.paths import NAMED_TOKENS, Paths
from toolcrib.config.settings import Settings
from toolcrib.gateway import Gateway
from toolcrib.peers.store import PeerStore
from toolcrib.server.admission import Admission, SharedToken
from toolcrib.server.embedded import MCPDiscoveryServer
from toolcrib.server.guard import read_or_make_token
from toolcrib.server.http import build_app, connection_limits, serve_http
from toolcrib.server.metrics_page import MetricsPage
from toolcrib.server.named_tokens import NamedTokens
from toolcrib.server.peer_pages import OwnPeer, PeerPages
from toolcrib.storage.token_file import TokenFile


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
    """Serve clients that are admitted until `stop` is set; `on_ready` gets the address once they can come.

    Named tokens are kept beside `token_file`.

    `own_peer` is who we are to peers, while this process speaks to them.
    """
    bound = port

    def address() -> str:
        return f"http://{_in_url(host)}:{bound}{gateway.settings.http_path}"

    def is_ready(port: int) -> None:
        nonlocal bound
        bound = port
        on_ready(address())

    served = MCPDiscoveryServer(gateway)
    metrics = MetricsPage(gateway, lambda: served.meta_tools.waiting_calls)
    app = build_app(
        served.sdk_server,
        lambda: gateway.settings,
        host=host,
        token=None,
        admission=NamedTokens(
            TokenFile(token_file.with_name(NAMED_TOKENS)),
            _admission(gateway.settings, token_file, address),
            now=time.time,
        ),
        more_routes=[*PeerPages(gateway, _peer_store, own_peer).routes(), metrics.route],
    )
    await metrics.open()
    try:
        await serve_http(
            app,
            host=host,
            port=port,
            stop=stop,
            grace_seconds=lambda: gateway.settings.shutdown_grace_seconds,
            limits=lambda: connection_limits(gateway.settings),
            on_ready=is_ready,
        )
    finally:
        metrics.close()
        await served.meta_tools.close()


def _admission(settings: Settings, token_file: Path, own_url: Callable[[], str]) -> Admission:
    if not settings.http_auth_issuer:
        return SharedToken(read_or_make_token(token_file))
    # Loaded only then: most people have no issuer of their own.
    issued: Admission = import_module("toolcrib.server.issued_tokens").issued_tokens(settings, own_url)
    return issued


def _peer_store() -> AbstractContextManager[PeerStore]:
    # Loaded with the first question: most people have no peers.
    sqlite_peers = import_module("toolcrib.storage.sqlite_peers")
    return closing(sqlite_peers.SqlitePeers(Paths.of(os.environ).catalog))


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
