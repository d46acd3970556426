"""The peer port: our card for everybody, the exposed tools for trusted peers, over TLS."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from toolcrib.config.settings import Settings
from toolcrib.engine.peer_calls import PeerCalls
from toolcrib.engine.peer_desk import PeerDesk
from toolcrib.errors import ConfigurationError, PeerRefused, Problem
from toolcrib.gateway import Gateway
from toolcrib.limits.rate import RateLimiter
from toolcrib.peers.paths import CARD_PATHS, MCP_PATH, PEERS_PATH
from toolcrib.server.bounded_body import bounded_body
from toolcrib.server.checked_body import CheckedBody
from toolcrib.server.drain import Doorway
from toolcrib.server.exposed_server import build_exposed_server
from toolcrib.server.http_connections import BoundedConnection, ConnectionLimits, House
from toolcrib.server.peer_door import PeerDoor
from toolcrib.server.peer_guard import CALLER_IN_SCOPE, PeerGuard

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 128
MOST_BODY_BYTES = 1024 * 1024
IDLE_SECONDS = 60
CARD_SECONDS = 10.0
CLOSING_SECONDS = 5.0


class PeerApp:
    """The routes of the peer port, behind the guard; `run` while it is served."""

    def __init__(
        self,
        desk: PeerDesk,
        gateway: Gateway,
        settings: Callable[[], Settings],
        limiter: RateLimiter,
        calls: PeerCalls,
    ) -> None:
        self._desk = desk
        self._settings = settings
        self._server = build_exposed_server(gateway, desk.exposed, lambda: desk.card().body)
        routed: ASGIApp = self._server.streamable_http_app(
            streamable_http_path=MCP_PATH,
            # Each request proves who calls: there is no session that one peer could take over from another.
            stateless_http=True,
            max_request_body_size=sys.maxsize,
            # Peers come by address, under whatever name; the proof is what counts.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            custom_starlette_routes=[
                *(Route(path, self._show_card, methods=["GET"]) for path in CARD_PATHS),
                *(Route(path, self._take_card, methods=["POST"]) for path in CARD_PATHS),
                Route(PEERS_PATH, self._introduce, methods=["GET"]),
            ],
        )
        self._checked = CheckedBody(routed, max_bytes=lambda: MOST_BODY_BYTES)
        self._routed = routed
        self.guarded = PeerGuard(
            self._dispatch,
            own_id=desk.peer_id,
            own_hash=desk.certificate_hash,
            peer=desk.peer,
            limiter=limiter,
            calls=calls,
        )

    def running(self) -> Any:
        """The block in which requests can be answered."""
        return self._server.session_manager.run()

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_message = scope["type"] == "http" and scope["path"] == MCP_PATH
        await (self._checked if is_message else self._routed)(scope, receive, send)

    async def _show_card(self, request: Request) -> Response:
        card = self._desk.card()
        headers = {"etag": f'"{card.etag}"', "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(card.body, media_type="application/json", headers=headers)

    async def _take_card(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(CARD_SECONDS):
                body = await bounded_body(request, self._settings().peers_max_card_bytes)
        except (TimeoutError, ClientDisconnect):
            return JSONResponse({"error": "the card did not come in time"}, 408, {"connection": "close"})
        if body is None:
            return JSONResponse({"error": "the card is too large"}, 413)
        host = request.client.host if request.client is not None else ""
        try:
            await self._desk.take_posted(body, request.scope[CALLER_IN_SCOPE], host)
        except PeerRefused as refusal:
            # Not whose name it claims: that is nobody's business.
            words = "this machine does not want to know you" if refusal.reason == "impostor" else refusal.message
            return JSONResponse({"error": words}, 403)
        return await self._show_card(request)

    async def _introduce(self, _: Request) -> Response:
        if not self._settings().peers_introduce:
            return JSONResponse({"error": "this machine tells nobody about its peers"}, 404)
        known = [
            {"peerId": peer.peer_id, "addresses": [str(address) for address in peer.addresses]}
            for peer in self._desk.introductions()
        ]
        return JSONResponse({"peers": known})


async def serve_peers(
    app: PeerApp,
    listeners: Sequence[socket.socket],
    context: ssl.SSLContext,
    *,
    stop: asyncio.Event,
    grace_seconds: Callable[[], float],
) -> None:
    """Let peers in until `stop` is set, then let running calls end."""
    doorway = Doorway(app.guarded)
    house = House(lambda: ConnectionLimits(MOST_CONNECTIONS), "too many connections of peers")
    config = uvicorn.Config(
        doorway,
        log_level="error",
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="off",
        http=cast(Any, partial(BoundedConnection, house)),
        timeout_keep_alive=IDLE_SECONDS,
    )
    config.load()
    state = ServerState()

    def new_connection() -> asyncio.Protocol:
        return BoundedConnection(house, config=config, server_state=state, app_state={})

    async with app.running():
        door = asyncio.create_task(PeerDoor(listeners, new_connection, context).run())
        try:
            await stop.wait()
        finally:
            door.cancel()
            await asyncio.gather(door, return_exceptions=True)
            for listener in listeners:
                listener.close()
            await doorway.close(grace_seconds())
            await _see_out(state)


async def _see_out(state: ServerState) -> None:
    """End all connections; one that does not end by itself in time is cut off."""
    for connection in list(state.connections):
        connection.shutdown()
    if state.tasks:
        await asyncio.wait(set(state.tasks), timeout=CLOSING_SECONDS)
    for connection in list(state.connections):
        cast(BoundedConnection, connection).cut_off()


def listen_at(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Sockets that accept connections at all these addresses, on one port; 0 is a free one, the same for all."""
    listeners: list[socket.socket] = []
    try:
        for host in hosts:
            listeners.append(_bound(host, port))
            port = listeners[0].getsockname()[1]
    except OSError as problem:
        for listener in listeners:
            listener.close()
        raise ConfigurationError(
            [Problem("peers.port", f"peers can't be listened for at {host}, port {port}: {problem.strerror}")],
            hint="Stop the program that uses it, or choose another port; 0 takes a free one.",
        ) from problem
    return listeners


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(1024)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener
