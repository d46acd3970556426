"""The gateway as an MCP server over Streamable HTTP, for many clients at once."""

from __future__ import annotations

import asyncio
import math
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, cast

import uvicorn
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.server.admission import Admission, Anybody, SharedToken, principal_in
from toolcrib.server.checked_body import CheckedBody
from toolcrib.server.drain import LEAVING_SECONDS, Doorway
from toolcrib.server.event_store import SessionEvents
from toolcrib.server.guard import Guard, allowed_hosts, as_origin, own_origins
from toolcrib.server.http_connections import BoundedConnection, ConnectionLimits, House
from toolcrib.server.http_sessions import ResumableSessions
from toolcrib.server.kept_events import KeptEvents
from toolcrib.server.process_memory import open_files_limit
from toolcrib.server.sse_face import SseFace

HEALTH_PATH = "/health"
SESSION_HEADER = "mcp-session-id"
CLOSING_SECONDS = 5.0
# Of the connections that may be, so many are accepted before the first of them is looked at: those that are cut off for them
# keep their files a little longer.
ACCEPTED_AT_ONCE_OF = 4
# The system keeps so many until they are accepted. One too many waits for seconds until it tries again.
WAITING_TO_BE_ACCEPTED = 1024
# One for the connection, one for another that waits to be accepted, one for the configured servers.
FILES_PER_CONNECTION = 3
BODY_TAKES_TIMES = 6


def build_app(
    server: Server[Any],
    settings_now: Callable[[], Settings],
    *,
    host: str,
    token: str | None,
    more_hosts: Iterable[str] = (),
    more_routes: Sequence[Route] = (),
    admission: Admission | None = None,
) -> ASGIApp:
    """The ASGI application: the MCP endpoint, those for older clients, a health check and `more_routes`, all behind the guard.

    `admission` decides who may call; without one it is whoever holds `token`, or anybody where there is none.
    """
    admission = admission or (Anybody() if token is None else SharedToken(token))
    settings = settings_now()
    hosts = [name.lower() for name in allowed_hosts(host, (*settings.http_allowed_hosts, *more_hosts))]
    origins = [as_origin(origin) for origin in settings.http_allowed_origins]
    app: ASGIApp = _mcp_app(server, settings_now, _security(hosts, origins))
    # Whoever has no token is not waited for: the body of what everybody may ask is not read.
    everybodys = [Route(HEALTH_PATH, _health, methods=["GET"]), *admission.open_routes]
    beside = [route for route in (*more_routes, *everybodys) if route.path != settings.http_path]
    app = BesideMcp(app, beside)
    if origins:
        app = CORSMiddleware(
            app, origins, allow_methods=["GET", "POST", "DELETE"], allow_headers=["*"], expose_headers=[SESSION_HEADER]
        )
    open_paths = {route.path for route in everybodys} - {settings.http_path}
    return Guard(app, admission=admission, hosts=hosts, origins=origins, open_paths=open_paths)


def _mcp_app(server: Server[Any], settings_now: Callable[[], Settings], security: TransportSecuritySettings) -> ASGIApp:
    """Whatever takes JSON-RPC messages."""
    settings = settings_now()
    kept = KeptEvents(lambda: settings_now().http_event_bytes, lambda: settings_now().http_event_ttl_seconds)
    sessions = ResumableSessions(
        server,
        partial(SessionEvents, kept),
        # The SDK keeps the limit it gets, so ours is checked before, by `CheckedBody`.
        max_request_body_size=sys.maxsize,
        max_sessions=settings.http_max_sessions,
        session_idle_timeout=settings.http_session_idle_seconds,
        security_settings=security,
    )
    endpoint = Route(settings.http_path, StreamableHTTPASGIApp(sessions))
    app = Starlette(routes=[endpoint, *SseFace(server, settings_now).routes()], lifespan=lambda _: sessions.run())
    return CheckedBody(app, max_bytes=lambda: settings_now().max_http_body_bytes)


def _security(hosts: Sequence[str], origins: Sequence[str]) -> TransportSecuritySettings:
    """The SDK's own check stays on with the same lists: two locks, one key."""
    return TransportSecuritySettings(
        allowed_hosts=[name for host in hosts for name in (host, f"{host}:*")],
        allowed_origins=[*origins, *own_origins(hosts)],
    )


class BesideMcp:
    """Routes whose bodies are no JSON-RPC messages; everything else goes to the application behind them."""

    def __init__(self, app: ASGIApp, routes: Sequence[Route]) -> None:
        self._app = app
        self._router = Router(routes, redirect_slashes=False)
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # As a router sees it: below the path at which somebody else's program has us.
        is_ours = scope["type"] == "http" and any(route.matches(scope)[0] != Match.NONE for route in self._routes)
        known = principal_in(scope) if is_ours else None
        app = _not_for_tokens if known is not None and known.is_named_token else self._router
        await (app if is_ours else self._app)(scope, receive, send)


_not_for_tokens = JSONResponse({"error": "this token is for the MCP endpoint only"}, 403)


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def connection_limits(settings: Settings) -> ConnectionLimits:
    """What the settings allow, and this process can afford."""
    seconds = settings.http_request_timeout_seconds
    most = min(settings.http_max_connections, max(1, open_files_limit() // FILES_PER_CONNECTION))
    return ConnectionLimits(most, seconds, BODY_TAKES_TIMES * seconds)


async def serve_http(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    stop: asyncio.Event,
    grace_seconds: Callable[[], float],
    on_ready: Callable[[int], None],
    limits: Callable[[], ConnectionLimits] = ConnectionLimits,
) -> None:
    """Serve until `stop` is set; `on_ready` gets the port once connections are accepted."""
    listener = _listen(host, port)
    doorway = Doorway(app)
    server = _QuietServer(
        uvicorn.Config(
            doorway,
            # Only our own faults: the client hears what is wrong with a request.
            log_level="error",
            # In the same way as everything else, not in a way of its own.
            log_config=None,
            access_log=False,
            ws="none",
            lifespan="on",
            http=cast(Any, partial(BoundedConnection, House(limits))),
            backlog=max(1, limits().connections // ACCEPTED_AT_ONCE_OF),
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stopping = asyncio.create_task(stop.wait())
    on_ready(listener.getsockname()[1])
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        seconds = grace_seconds()
        # After the doorway has seen everybody out, whose last words uvicorn would cut off otherwise.
        server.config.timeout_graceful_shutdown = math.ceil(seconds + 2 * LEAVING_SECONDS) + 1
        server.should_exit = True
        # At once: whoever listens here next may be waiting for the address.
        for accepting in getattr(server, "servers", ()):  # none before it has begun
            accepting.close()
        await doorway.close(seconds)
        await asyncio.wait({serving}, timeout=CLOSING_SECONDS)
        if serving.done():
            serving.result()
    finally:
        stopping.cancel()
        serving.cancel()
        await asyncio.gather(serving, stopping, return_exceptions=True)
        listener.close()


class _QuietServer(uvicorn.Server):
    """Leaves signals to the gateway, which has more to close than this server."""

    def install_signal_handlers(self) -> None:
        return

    def capture_signals(self) -> Any:
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Its backlog is how many are accepted at once, and is given to the system as well, for which it is too small."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(WAITING_TO_BE_ACCEPTED)


def try_address(host: str, port: int) -> None:
    """Raise ConfigurationError where nobody could listen at this address now."""
    _listen(host, port).close()


def _listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; an address of no use is a mistake in the configuration."""
    try:
        return _bound(host.strip("[]"), port)
    except (OSError, OverflowError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise ConfigurationError(
            [Problem("http.host and http.port", f"{host}, port {port} can't be used: {reason}")],
            hint="Stop the program that uses it, or choose another with --host and --port (0 takes a free port).",
        ) from problem


def _bound(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is named so that asyncio switches Nagle's delay off on accepted connections.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Elsewhere this lets a restart have the port at once; on Windows it would let anyone take it from us.
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(1024)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener
