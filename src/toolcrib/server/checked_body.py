"""What is no JSON-RPC message is answered before the SDK sees it, and a client that leaves meanwhile is no fault."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.wire import jsonrpc


class CheckedBody:
    """Reads every body whole, up to a limit."""

    def __init__(self, app: ASGIApp, *, max_bytes: Callable[[], int]) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_message = scope["method"] == "POST"
        most = self._max_bytes()
        try:
            body = await _read(receive, most)
        except _Left:
            return
        if body is None:
            await _too_large(most)(scope, receive, send)
        elif is_message and (refusal := _refusal(body)) is not None:
            await refusal(scope, receive, send)
        else:
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


def _refusal(body: bytes) -> Response | None:
    try:
        message = jsonrpc.decode(body)
    except jsonrpc.BadMessage as problem:
        return _answer(jsonrpc.error_response(problem.id, problem.code, str(problem)))
    if message.is_request and message.id is None:
        return _answer(jsonrpc.error_response(None, jsonrpc.INVALID_REQUEST, jsonrpc.NULL_ID))
    return None


def _answer(error: bytes) -> Response:
    return Response(error, 400, media_type="application/json")


def _too_large(max_bytes: int) -> Response:
    return JSONResponse({"error": f"a request may have at most {max_bytes} bytes; see maxHttpBodyBytes"}, 413)


def _replayed(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
