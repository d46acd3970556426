"""What is no JSON-RPC message is answered before the SDK sees it, and a client that leaves meanwhile is no fault."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.wire import jsonrpc

_RESUME_HEADER = b"last-event-id"


class CheckedBody:
    """Reads the body of each POST whole, up to a limit; in a GET, leaves out the event a stream should go on from."""

    def __init__(self, app: ASGIApp, *, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(_from_the_start(scope), receive, send)
            return
        try:
            body = await self._read(receive)
        except _Left:
            return
        refusal = _too_large(self._max_bytes) if body is None else _refusal(body)
        if refusal is not None:
            await refusal(scope, receive, send)
        else:
            await self._app(scope, _replayed(body or b"", receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The whole body, or None where it is above the limit."""
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Left
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_bytes:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)


class _Left(Exception):
    """The client closed the connection before it had said all."""


def _from_the_start(scope: Scope) -> Scope:
    # We keep no events to go on from: a stream that is taken up again starts anew.
    if scope["type"] != "http" or not any(name == _RESUME_HEADER for name, _ in scope["headers"]):
        return scope
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != _RESUME_HEADER]}


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
