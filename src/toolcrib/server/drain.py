"""Who is inside the HTTP face, and how they are seen out when the gateway stops."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.wire.jsonrpc import NO_ANSWER, RequestId, error_response

_STOPPING = f"the gateway is stopping. {OUTCOME_UNKNOWN}"


def owe_answer(id: RequestId) -> None:
    """Say that the stream which answers the present HTTP request has to end with the answer to this JSON-RPC request.

    So it is with clients of the handshake era; those of the newest revision know what it means that a stream just ends.
    """
    if (answer := _answering.get()) is not None:
        answer.owed = id


class Doorway:
    """Counts requests in and out, so that stopping ends each of them in an orderly way instead of breaking it off."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._inside: dict[asyncio.Task[Any], _Answer] = {}
        self._is_closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        if scope["type"] != "http" or task is None:
            await self._app(scope, receive, send)
            return
        answer = self._inside[task] = _Answer(send, is_listening=scope["method"] == "GET")
        _answering.set(answer)
        try:
            await self._app(scope, receive, answer.send)
        except asyncio.CancelledError:
            if not self._is_closing:
                raise
            task.uncancel()
            await answer.finish(scope, receive)
        finally:
            del self._inside[task]

    async def close(self, grace_seconds: float) -> None:
        """End streams that only listen at once, and calls once they are done or the grace is over."""
        self._is_closing = True
        await _end(task for task, answer in self._inside.items() if answer.only_listens)
        if self._inside:
            await asyncio.wait(set(self._inside), timeout=grace_seconds)
        await _end(self._inside)


class _Answer:
    """How far the answer to one request has come."""

    def __init__(self, send: Send, *, is_listening: bool) -> None:
        self._send = send
        self._is_listening = is_listening
        self._is_started = False
        self._is_stream = False
        self._is_complete = False
        self.owed: RequestId | None = None

    @property
    def only_listens(self) -> bool:
        return self._is_listening and self.owed is None

    async def send(self, message: Message) -> None:
        self._is_started = True
        if message["type"] == "http.response.start":
            self._is_stream = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
        self._is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def finish(self, scope: Scope, receive: Receive) -> None:
        """Say what is still owed: the end of what was begun, or that nothing will come."""
        if not self._is_started:
            await JSONResponse({"error": "the gateway is shutting down"}, 503)(scope, receive, self._send)
        elif not self._is_complete:
            await self._send({"type": "http.response.body", "body": self._last_event()})

    def _last_event(self) -> bytes:
        if self.owed is None or not self._is_stream:
            return b""
        return b"event: message\r\ndata: %b\r\n\r\n" % error_response(self.owed, NO_ANSWER, _STOPPING)


_answering: ContextVar[_Answer | None] = ContextVar("answering", default=None)


async def _end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
