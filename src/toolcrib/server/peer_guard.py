"""Who may speak to the peer port: peers that prove who they are, as often as they may."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from toolcrib.engine.peer_calls import PeerCalls
from toolcrib.errors import PeerRefused
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.model.peer import KnownPeer
from toolcrib.peers.call_proof import caller_of_proof
from toolcrib.peers.paths import CARD_PATHS, MCP_PATH, PEERS_PATH
from toolcrib.server.exposed_server import PEER_IN_SCOPE

log = logging.getLogger(__name__)

# Where the guard writes down the id that was proved, of whomever it is.
CALLER_IN_SCOPE = "toolcrib.caller"
POLICY_VIOLATION = 1008
# How often cards may be left here, and others asked for: by one machine, and by all.
CARDS_PER_HOST = RateLimitConfig(1, 2)
CARDS_IN_ALL = RateLimitConfig(10, 20)
# How many that are not trusted may do so at once.
MOST_GREETED = 16


class PeerGuard:
    """Checks every request before anything else sees it; anybody may read the card, and only trusted peers may call."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        own_id: str,
        own_hash: str,
        peer: Callable[[str], KnownPeer | None],
        limiter: RateLimiter,
        calls: PeerCalls,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._app = app
        self._own_id = own_id
        self._own_hash = own_hash
        self._peer = peer
        self._limiter = limiter
        self._calls = calls
        self._now = now
        self._greeted = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose(POLICY_VIOLATION)(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if "origin" in headers:
            await _refuse(403, "web pages may not call peers")(scope, receive, send)
        elif scope["path"] in CARD_PATHS and scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
        else:
            await self._let_in(headers, scope, receive, send)

    async def _let_in(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            caller = self._caller(headers.get("authorization", ""))
        except PeerRefused as refusal:
            await _refuse(401, refusal.message)(scope, receive, send)
            return
        peer = self._peer(caller)
        if peer is not None and peer.trust == "blocked":
            await _refuse(403, "this machine does not want to know you")(scope, receive, send)
        elif scope["path"] in (*CARD_PATHS, PEERS_PATH):
            await self._greet(caller, peer, scope, receive, send)
        elif peer is None or not peer.is_trusted:
            words = "the person at this machine has not decided about you yet: `toolcrib peers trust` there"
            await _refuse(403, words)(scope, receive, send)
        elif scope["path"] == MCP_PATH and scope["method"] != "POST":
            # Nothing is said outside of answers, and no session is kept.
            await _refuse(405, "only POST is served here")(scope, receive, send)
        else:
            await self._serve(peer, scope, receive, send)

    def _caller(self, authorization: str) -> str:
        scheme, _, proof = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise PeerRefused("a proof of who you are is needed", reason="unsigned")
        return caller_of_proof(proof.strip(), own_id=self._own_id, own_hash=self._own_hash, now=self._now())

    async def _greet(self, caller: str, peer: KnownPeer | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Anybody may leave a card or ask for others, but strangers only a few at a time, and none in the way of a trusted peer."""
        given = {**scope, CALLER_IN_SCOPE: caller}
        wait = await self._wait_of(caller, peer, scope)
        if wait:
            await _too_often(wait)(scope, receive, send)
        elif peer is not None and peer.is_trusted:
            await self._app(given, receive, send)
        elif self._greeted >= MOST_GREETED:
            await _too_often(1)(scope, receive, send)
        else:
            self._greeted += 1
            try:
                await self._app(given, receive, send)
            finally:
                self._greeted -= 1

    async def _wait_of(self, caller: str, peer: KnownPeer | None, scope: Scope) -> float:
        if peer is not None and peer.is_trusted:
            return await self._limiter.try_acquire(f"card of {caller}", CARDS_PER_HOST)
        host = str(scope["client"][0]) if scope.get("client") else ""
        wait = await self._limiter.try_acquire(f"card of {host}", CARDS_PER_HOST)
        return wait or await self._limiter.try_acquire("cards of peers", CARDS_IN_ALL)

    async def _serve(self, peer: KnownPeer, scope: Scope, receive: Receive, send: Send) -> None:
        if wait := await self._calls.enter(peer.peer_id):
            await _too_often(wait)(scope, receive, send)
            return
        try:
            await self._app({**scope, PEER_IN_SCOPE: peer, CALLER_IN_SCOPE: peer.peer_id}, receive, send)
        finally:
            self._calls.leave(peer.peer_id)


def _refuse(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status, {"www-authenticate": "Bearer"} if status == 401 else None)


def _too_often(seconds: float) -> JSONResponse:
    return JSONResponse(
        {"error": "too many requests of this peer"}, 429, {"retry-after": str(max(1, math.ceil(seconds)))}
    )
