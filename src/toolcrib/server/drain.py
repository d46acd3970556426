"""Who is inside the HTTP face, and how they are seen out when the gateway stops."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.wire.jsonrpc import NO_ANSWER, RequestId, error_response

_STOPPING = f"the gateway is stopping. {OUTCOME_UNKNOWN}"
# How long a stream may take to end once it was asked to; then it is broken off.
LEAVING_SECONDS = 1.0


def present_answer() -> Answer:
    """The answer to the HTTP request that is being served here."""
    return _answering.get() or Answer(_nowhere, _nothing, is_listening=True)


class Doorway:
    """Counts requests in and out, so that stopping ends each of them in an orderly way instead of breaking it off."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._inside: dict[asyncio.Task[Any], Answer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        if scope["type"] != "http" or task is None:
            await self._app(scope, receive, send)
            return
        answer = self._inside[task] = Answer(send, receive, is_listening=_only_listens(scope))
        _answering.set(answer)
        try:
            await self._app(scope, answer.receive, answer.send)
        except asyncio.CancelledError:
            if not answer.has_to_end:
                raise
            task.uncancel()
        finally:
            del self._inside[task]
        if answer.has_to_end:
            await answer.finish(scope)

    async def close(self, grace_seconds: float) -> None:
        """End streams that only listen at once, and calls once they are done or the grace is over."""
        await _end({task: answer for task, answer in self._inside.items() if answer.only_listens})
        if self._inside:
            await asyncio.wait(set(self._inside), timeout=grace_seconds)
        await _end(dict(self._inside))


def _only_listens(scope: Scope) -> bool:
    """Whether a request asks for news and for nothing else; in the newest revision that is a method."""
    return scope["method"] == "GET" or (b"mcp-method", b"subscriptions/listen") in scope["headers"]


class Answer:
    """How far the answer to one HTTP request has come, and which JSON-RPC requests it still has to answer.

    Only those of the handshake era: in the newest revision everybody knows what it means that a stream just ends.
    """

    def __init__(self, send: Send, receive: Receive, *, is_listening: bool) -> None:
        self._send = send
        self._receive = receive
        self._is_listening = is_listening
        self._has_body = False
        self._is_started = False
        self._is_complete = False
        self._ending = asyncio.Event()
        # A dictionary for its order.
        self._owed: dict[RequestId, None] = {}
        self.is_stream = False

    @property
    def only_listens(self) -> bool:
        return self._is_listening and not self._owed

    @property
    def has_to_end(self) -> bool:
        return self._ending.is_set()

    def owes(self, id: RequestId) -> None:
        """The client waits for the answer to this request, and hears of it here."""
        self._owed[id] = None

    def has_given(self, id: RequestId) -> None:
        self._owed.pop(id, None)

    def end(self) -> None:
        """Let whoever answers believe that the client has left, which they all know how to deal with."""
        self._ending.set()

    async def receive(self) -> Message:
        if self._has_body:
            return await self._until_the_end()
        message = await self._receive()
        self._has_body = not message.get("more_body", False)
        return message

    async def _until_the_end(self) -> Message:
        leaving, ending = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait({leaving, ending}, return_when=asyncio.FIRST_COMPLETED)
            return leaving.result() if leaving.done() else {"type": "http.disconnect"}
        finally:
            leaving.cancel()
            ending.cancel()

    async def send(self, message: Message) -> None:
        self._is_started = True
        if message["type"] == "http.response.start":
            self.is_stream = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
        self._is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        if self._is_complete and self.is_stream and self.has_to_end and self._owed:
            return  # the end comes with what is owed
        await self._send(message)

    async def finish(self, scope: Scope) -> None:
        """Say what is still owed: the end of what was begun, or that nothing will come."""
        if not self._is_started:
            await JSONResponse({"error": "the gateway is shutting down"}, 503)(scope, self._receive, self._send)
        elif not self._is_complete or (self.is_stream and self._owed):
            events = map(_last_event, self._owed) if self.is_stream else ()
            await self._send({"type": "http.response.body", "body": b"".join(events)})


def _last_event(owed: RequestId) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % error_response(owed, NO_ANSWER, _STOPPING)


async def _nowhere(_: Message) -> None:
    """Where whoever runs us sees requests out itself."""


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


_answering: ContextVar[Answer | None] = ContextVar("answering", default=None)


async def _end(inside: Mapping[asyncio.Task[Any], Answer]) -> None:
    for answer in inside.values():
        answer.end()
    if streams := {task for task, answer in inside.items() if answer.is_stream}:
        await asyncio.wait(streams, timeout=LEAVING_SECONDS)
    for task in inside:
        task.cancel()
    await asyncio.gather(*inside, return_exceptions=True)
