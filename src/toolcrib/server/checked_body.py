"""What is no JSON-RPC message is answered before the SDK sees it, and a client that leaves meanwhile is no fault."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.server.drain import present_answer
from toolcrib.wire import jsonrpc
from toolcrib.wire.protocol import MODERN_PROTOCOL_VERSIONS


class CheckedBody:
    """Reads every body whole, up to a limit."""

    def __init__(self, app: ASGIApp, *, max_bytes: Callable[[], int]) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._max_bytes()
        try:
            body = await _read(receive, most)
        except _Left:
            return
        if body is None:
            await _too_large(most)(scope, receive, send)
            return
        if scope["method"] == "POST":
            try:
                _note_request(jsonrpc.decode(body), Headers(scope=scope))
            except jsonrpc.BadMessage as problem:
                error = jsonrpc.error_response(problem.id, problem.code, str(problem))
                await Response(error, 400, media_type="application/json")(scope, receive, send)
                return
        await self._app(scope, _replayed(body, receive), send)


class _Left(Exception):
    """The client closed the connection before it had said all."""


async def _read(receive: Receive, max_bytes: int) -> bytes | None:
    """The whole body, or None where it is above the limit."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Left
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > max_bytes:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _note_request(message: jsonrpc.Message, headers: Headers) -> None:
    """Raise BadMessage for a request that nobody could answer; one of the handshake era is owed an answer."""
    if not message.is_request:
        return
    if not isinstance(message.id, int | str):
        raise jsonrpc.BadMessage(jsonrpc.INVALID_REQUEST, jsonrpc.NULL_ID)
    if headers.get("mcp-protocol-version") not in MODERN_PROTOCOL_VERSIONS:
        present_answer().owes(message.id)


def _too_large(max_bytes: int) -> Response:
    return JSONResponse({"error": f"a request may have at most {max_bytes} bytes; see maxHttpBodyBytes"}, 413)


def _replayed(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
