"""Who is inside the HTTP face, and how they are seen out when the gateway stops."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Doorway:
    """Counts requests in and out, so that stopping ends each of them in an orderly way instead of breaking it off."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._calls: set[asyncio.Task[Any]] = set()
        self._streams: set[asyncio.Task[Any]] = set()
        self._is_closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        if scope["type"] != "http" or task is None:
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        inside = self._streams if _only_listens(scope) else self._calls
        inside.add(task)
        try:
            await self._app(scope, receive, answer.send)
        except asyncio.CancelledError:
            if not self._is_closing:
                raise
            task.uncancel()
            await answer.finish(scope, receive)
        finally:
            inside.discard(task)

    async def close(self, grace_seconds: float) -> None:
        """End streams that only listen at once, and calls once they are done or the grace is over."""
        self._is_closing = True
        await _end(self._streams)
        if self._calls:
            await asyncio.wait(set(self._calls), timeout=grace_seconds)
        await _end(self._calls)


def _only_listens(scope: Scope) -> bool:
    """Whether a request asks for news and for nothing else; in the newest revision that is a method."""
    return scope["method"] == "GET" or (b"mcp-method", b"subscriptions/listen") in scope["headers"]


class _Answer:
    """How far the answer to one request has come."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_started = False
        self._is_complete = False

    async def send(self, message: Message) -> None:
        self._is_started = True
        self._is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def finish(self, scope: Scope, receive: Receive) -> None:
        """Say what is still owed: the end of what was begun, or that nothing will come."""
        if not self._is_started:
            await JSONResponse({"error": "the gateway is shutting down"}, 503)(scope, receive, self._send)
        elif not self._is_complete:
            await self._send({"type": "http.response.body", "body": b""})


async def _end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
