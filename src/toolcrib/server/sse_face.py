"""The five tools for clients that know only the first HTTP transport: a stream at `/sse`, and messages to `/messages`."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import anyio
from mcp.server import Server
from mcp.server.sse import SseServerTransport
from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from toolcrib.config.settings import Settings
from toolcrib.server.drain import present_answer
from toolcrib.server.followed_streams import MOST_UNREAD, FollowedInput, FollowedOutput, Unread

log = logging.getLogger(__name__)

SSE_PATH = "/sse"
MESSAGES_PATH = "/messages"
# Where the session of a request is written down, which has no header for it.
SESSION_IN_SCOPE = "toolcrib.session"

_Serve = Callable[[Scope, Receive, Send], Awaitable[None]]


class _NothingRead(Exception):
    """A client that takes none of its answers: what waits for it is dropped with its stream."""


class SseFace:
    """A session is one stream, and ends with it; what a client sends belongs to the stream that its address names."""

    def __init__(self, server: Server[Any], settings_now: Callable[[], Settings]) -> None:
        self._server = server
        self._settings_now = settings_now
        # Hosts and origins are checked by the guard, and bodies by `CheckedBody`.
        self._transport = SseServerTransport(MESSAGES_PATH, max_request_body_size=sys.maxsize)
        self._open = 0
        # By session, the messages that have come and that nobody has taken yet.
        self._arriving: Counter[str] = Counter()

    def routes(self) -> list[Route]:
        return [
            Route(SSE_PATH, _Page(self._stream), methods=["GET"]),
            Route(MESSAGES_PATH, _Page(self._message), methods=["POST"]),
        ]

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self._settings_now()
        if not settings.http_sse:
            await _off(scope, receive, send)
        elif self._open >= settings.http_max_sessions:
            full = JSONResponse({"error": "too many sessions; see http.maxSessions"}, 503, {"retry-after": "1"})
            await full(scope, receive, send)
        else:
            self._open += 1
            try:
                await self._serve(scope, receive, send)
            finally:
                self._open -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer, unread = present_answer(), Unread()
        try:
            async with self._transport.connect_sse(scope, receive, send) as (read, write):
                await self._server.run(
                    FollowedInput(read, answer.owes, unread),
                    FollowedOutput(write, answer.has_given, unread),
                    self._server.create_initialization_options(),
                )
                if unread.is_given_up:
                    raise _NothingRead
        except* _NothingRead:
            log.warning("an HTTP client asked again and again and read no answer; its session was ended")

    async def _message(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._settings_now().http_sse:
            await _off(scope, receive, send)
            return
        session = _session_in(scope)
        if self._arriving[session] >= MOST_UNREAD:
            await _too_many(scope, receive, send)
            return
        known = {**scope, SESSION_IN_SCOPE: f"sse:{session}"}
        self._arriving[session] += 1
        try:
            # A session may end while a message for it is on its way.
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._transport.handle_post_message(known, receive, send)
        finally:
            self._arriving[session] -= 1
            if not self._arriving[session]:
                del self._arriving[session]


def _session_in(scope: Scope) -> str:
    """The session that a message is for, as the transport reads and checks it: of several names the last, however it is spelled."""
    try:
        return UUID(hex=QueryParams(scope["query_string"]).get("session_id", "")).hex
    except ValueError:
        return ""  # the transport refuses it


class _Page:
    """An application of its own: what it is given must not be taken for a function of a request."""

    def __init__(self, serve: _Serve) -> None:
        self._serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._serve(scope, receive, send)


_too_many = JSONResponse({"error": "read the answers on your stream first"}, 429, {"retry-after": "1"})
_off = JSONResponse({"error": "this transport is switched off; see http.sse"}, 404)
