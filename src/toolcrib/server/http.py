"""The gateway as an MCP server over Streamable HTTP, for many clients at once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from toolcrib.config.settings import Settings
from toolcrib.server.guard import Guard, allowed_hosts

HEALTH_PATH = "/health"


def build_app(server: Server[Any], settings: Settings, *, host: str, token: str) -> ASGIApp:
    """The ASGI application: the MCP endpoint and a health check, behind the guard."""
    hosts = allowed_hosts(host, settings.http_allowed_hosts)
    app = server.streamable_http_app(
        streamable_http_path=settings.http_path,
        max_request_body_size=settings.max_http_body_bytes,
        # The SDK's own check stays on with the same lists: two locks, one key.
        transport_security=TransportSecuritySettings(
            allowed_hosts=[name for host_name in hosts for name in (host_name, f"{host_name}:*")],
            allowed_origins=list(settings.http_allowed_origins),
        ),
        custom_starlette_routes=[Route(HEALTH_PATH, _health, methods=["GET"])],
    )
    return Guard(app, token=token, hosts=hosts, origins=settings.http_allowed_origins, open_paths=[HEALTH_PATH])


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


async def serve_http(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    stop: asyncio.Event,
    grace_seconds: float,
    on_ready: Callable[[int], None],
) -> None:
    """Serve until `stop` is set; `on_ready` is told the port once connections are accepted."""
    listener = _listen(host, port)
    server = _QuietServer(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=max(1, round(grace_seconds)),
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stopping = asyncio.create_task(stop.wait())
    on_ready(listener.getsockname()[1])
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    try:
        async with asyncio.timeout(grace_seconds + 5):
            await serving
    finally:
        stopping.cancel()
        with suppress(asyncio.CancelledError):
            await stopping
        listener.close()


class _QuietServer(uvicorn.Server):
    """Leaves signals to the gateway, which has more to close than this server."""

    def install_signal_handlers(self) -> None:
        return

    def capture_signals(self) -> Any:
        return nullcontext()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named so that asyncio switches Nagle's delay off on accepted connections.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(1024)
    listener.setblocking(False)
    return listener
