"""Real HTTP servers on the loopback address, in the test's own event loop: the SDK's, and scripted odd ones."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

BOUND_SECONDS = 10.0
ASGIApp = Callable[..., Awaitable[None]]


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers and its ticking: it runs until `stop` is set."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stop = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.stop.wait()


@asynccontextmanager
async def serve(app: Any, port: int = 0) -> AsyncIterator[str]:
    """Serve `app` on a free port, or on one that was free just now; the address, without a path."""
    # With the protocol named, asyncio turns Nagle's delay off; it does not for a socket made without.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # So that another one can take the port over at once.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    config = uvicorn.Config(
        app, log_level="critical", timeout_graceful_shutdown=1, ws="none", http="h11", date_header=False
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.stop.set()
        async with asyncio.timeout(BOUND_SECONDS):
            await running
        listener.close()


def unused_address() -> str:
    """An address on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@dataclass(frozen=True)
class Seen:
    """One request as it reached a scripted server."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        loaded = json.loads(self.body) if self.body else {}
        assert isinstance(loaded, dict)
        return loaded

    @property
    def rpc(self) -> str:
        """The JSON-RPC method of the message, or the HTTP method where there is no message."""
        return str(self.message.get("method", self.method))

    def answer(self, result: Any) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": self.message["id"], "result": result}).encode()

    def error(self, code: int, message: str) -> bytes:
        error = {"code": code, "message": message}
        return json.dumps({"jsonrpc": "2.0", "id": self.message.get("id"), "error": error}).encode()


class Out:
    """How a script answers: at once, or piece by piece."""

    def __init__(
        self, receive: Callable[[], Awaitable[dict[str, Any]]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        self._receive = receive
        self._send = send

    async def send(
        self, status: int, body: bytes = b"", content_type: str = "application/json", **headers: str
    ) -> None:
        await self.start(status, content_type, **headers)
        await self._send({"type": "http.response.body", "body": body})

    async def start(self, status: int = 200, content_type: str = "text/event-stream", **headers: str) -> None:
        pairs = {"content-type": content_type, **{name.replace("_", "-"): value for name, value in headers.items()}}
        raw = [(name.encode(), value.encode()) for name, value in pairs.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def write(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def event(self, data: bytes, id: str = "", name: str = "", retry_ms: int | None = None) -> None:
        fields = [f"event: {name}"] if name else []
        fields += [f"id: {id}"] if id else []
        fields += [f"retry: {retry_ms}"] if retry_ms is not None else []
        await self.write("".join(f"{line}\n" for line in fields).encode() + b"data: " + data + b"\n\n")

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def until_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


Answer = Callable[[Seen, Out], Awaitable[None]]


@dataclass
class Script:
    """An ASGI app that keeps every request and answers it as `answer` says."""

    answer: Answer
    seen: list[Seen] = field(default_factory=list)
    disconnects: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await _lifespan(receive, send)
            return
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        body = await _body(receive)
        seen = Seen(scope["method"], scope["path"], headers, body)
        self.seen.append(seen)
        self._changed.set()
        await self.answer(seen, Out(receive, send))

    def note_disconnect(self) -> None:
        self.disconnects += 1
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds`, looked at after each request and each noted disconnect."""
        async with asyncio.timeout(BOUND_SECONDS):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    def of(self, rpc: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.rpc == rpc]

    async def until_seen(self, rpc: str, times: int = 1) -> Seen:
        await self.until(lambda: len(self.of(rpc)) >= times)
        return self.of(rpc)[times - 1]


async def _body(receive: Any) -> bytes:
    parts = []
    while True:
        event = await receive()
        parts.append(event.get("body", b""))
        if not event.get("more_body"):
            return b"".join(parts)


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        event = await receive()
        await send({"type": event["type"] + ".complete"})
        if event["type"] == "lifespan.shutdown":
            return


@dataclass
class SdkServer:
    """A low-level server of the official SDK with a few tools, and what happened inside it."""

    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)

    def build(self) -> Server[Any]:
        return Server("sdk", on_list_tools=self._list, on_call_tool=self._call)

    def streamable_app(self, **options: Any) -> Starlette:
        return self.build().streamable_http_app(**options)

    def sse_app(self, path: str = "/sse") -> Starlette:
        server, transport = self.build(), SseServerTransport("/messages/")

        async def handle(request: Request) -> Response:
            async with transport.connect_sse(request.scope, request.receive, request._send) as (read, write):
                await server.run(read, write, server.create_initialization_options())
            return Response()

        routes = [Route(path, handle, methods=["GET"]), Mount("/messages/", app=transport.handle_post_message)]
        return Starlette(routes=routes)

    async def _list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        names = ("echo", "noisy", "slow")
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
        return types.ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private")

    async def _call(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "noisy":
            await ctx.session.report_progress(0.5, 1.0, "half")
        if params.name == "announce":
            await ctx.session.send_tool_list_changed()
        if params.name == "ping":
            await ctx.session.send_ping()
        if params.name == "slow":
            await self._wait_to_be_cancelled()
        text = json.dumps(params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=text)])

    async def _wait_to_be_cancelled(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
