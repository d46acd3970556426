"""An open gateway, served over HTTP on an address of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from toolcrib.gateway import Gateway
from toolcrib.server.embedded import MCPDiscoveryServer
from toolcrib.server.guard import read_or_make_token
from toolcrib.server.http import build_app, connection_limits, serve_http


async def listen(
    gateway: Gateway,
    *,
    host: str,
    port: int,
    token_file: Path,
    stop: asyncio.Event,
    on_ready: Callable[[str], None],
) -> None:
    """Serve clients that hold the token until `stop` is set; `on_ready` gets the address once they can come."""
    token = read_or_make_token(token_file)
    sdk_server = MCPDiscoveryServer(gateway).sdk_server
    path = gateway.settings.http_path
    await serve_http(
        build_app(sdk_server, lambda: gateway.settings, host=host, token=token),
        host=host,
        port=port,
        stop=stop,
        grace_seconds=lambda: gateway.settings.shutdown_grace_seconds,
        limits=lambda: connection_limits(gateway.settings),
        on_ready=lambda port: on_ready(f"http://{_in_url(host)}:{port}{path}"),
    )


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
