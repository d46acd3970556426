"""A request is served for as long as whoever made it is admitted: an open stream ends with its token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# So long after its token was revoked a stream may go on.
LOOK_SECONDS = 1.0
# So long an application may take to notice that its client is gone.
LEAVING_SECONDS = 5.0


class _Client:
    """A client that is gone as soon as we say so, whether or not it still listens."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._gone = asyncio.Event()
        self.has_heard = False
        self.is_done = False

    def leave(self) -> None:
        self._gone.set()

    async def receive(self) -> Message:
        receiving, leaving = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait({receiving, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return {"type": "http.disconnect"} if self._gone.is_set() else receiving.result()
        finally:
            receiving.cancel()
            leaving.cancel()

    async def send(self, message: Message) -> None:
        self.has_heard = True
        self.is_done = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)


async def serve_while(
    is_admitted: Callable[[], bool], app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    """Have the application answer; when that does not hold any more, its client is gone for it, and the answer ends."""
    client = _Client(receive, send)
    serving = asyncio.ensure_future(app(scope, client.receive, client.send))
    try:
        await asyncio.wait({serving}, timeout=LOOK_SECONDS)
        while not serving.done() and is_admitted():
            await asyncio.wait({serving}, timeout=LOOK_SECONDS)
        if serving.done():
            return serving.result()
        client.leave()
        await asyncio.wait({serving}, timeout=LEAVING_SECONDS)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    if not client.has_heard:
        await JSONResponse({"error": "the token is no longer valid"}, 401)(scope, receive, send)
    elif not client.is_done:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    return None
