"""Servers reached over HTTP: one of the official SDK in the test's own loop, and server-everything as a process."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.journeys.http_gateway import BOUND_SECONDS, eventually
from tests.servers.launch import Launch
from tests.upstream.http_servers import serve

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@dataclass
class Clinic:
    """A small server whose tools talk while they work; it keeps the headers of every request and what became of calls.

    `accepts` is the bearer token it asks for, if any; in the legacy `era` it knows nothing of the newest revision.
    """

    accepts: str | None = None
    era: str = "modern"
    headers: list[Mapping[str, str]] = field(default_factory=list)
    forgotten: set[str] = field(default_factory=set)
    metas: list[Mapping[str, Any]] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """The URL of the endpoint, while it is served."""
        server = Server("clinic", version="1", on_list_tools=self._list, on_call_tool=self._call)
        self._app: ASGIApp = server.streamable_http_app()
        async with serve(self) as address:
            yield f"{address}/mcp"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self.headers.append(dict(headers))
            if self.accepts is not None and headers.get("authorization") != f"Bearer {self.accepts}":
                app = JSONResponse({"error": "unauthorized"}, 401, {"www-authenticate": 'Bearer realm="clinic"'})
            elif headers.get("mcp-session-id") in self.forgotten:
                app = JSONResponse(_rpc_error("Session not found"), 404)
            elif self.era == "legacy" and headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS:
                app = JSONResponse(_rpc_error("Bad Request: Unsupported protocol version"), 400)
        await app(scope, receive, send)

    @property
    def sessions(self) -> set[str]:
        """Every session it has been asked in."""
        return {headers["mcp-session-id"] for headers in self.headers if "mcp-session-id" in headers}

    @property
    def credentials(self) -> set[str | None]:
        """Every Authorization header it has seen; None for a request without."""
        return {headers.get("authorization") for headers in self.headers}

    async def _list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        text = {"type": "object", "properties": {"text": {"type": "string"}}}
        described = {
            "repeat": "Say a text again",
            "count_patients": "Count up and report progress at each step",
            "gossip": "Write a log message at every level",
            "wait_forever": "Wait in the waiting room until cancelled",
        }
        tools = [types.Tool(name=name, description=what, input_schema=text) for name, what in described.items()]
        return types.ListToolsResult(tools=tools, ttl_ms=60_000, cache_scope="private")

    async def _call(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.metas.append(dict(params.model_dump(by_alias=True).get("_meta") or {}))
        if params.name == "count_patients":
            for step in range(1, 6):
                await ctx.session.report_progress(step, 5, f"patient {step}")
        if params.name == "gossip":
            for level in LEVELS:
                message = types.LoggingMessageNotificationParams(level=level, data=f"heard at {level}")
                await ctx.session.send_notification(types.LoggingMessageNotification(params=message), ctx.request_id)
        if params.name == "wait_forever":
            await self._wait()
        return types.CallToolResult(content=[types.TextContent(text=json.dumps(params.arguments or {}))])

    async def _wait(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def _rpc_error(message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": message}}


@dataclass(frozen=True)
class EverythingOverHttp:
    """server-everything on a port of its own."""

    process: subprocess.Popen[bytes]
    port: int

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(BOUND_SECONDS)

    @property
    def streamable(self) -> dict[str, str]:
        return {"type": "http", "url": f"http://127.0.0.1:{self.port}/mcp"}

    @property
    def sse(self) -> dict[str, str]:
        return {"type": "sse", "url": f"http://127.0.0.1:{self.port}/sse"}


@contextmanager
def everything_over_http(launch: Launch, transport: str, port: int | None = None) -> Iterator[EverythingOverHttp]:
    """Start server-everything in its `streamableHttp` or `sse` mode; it is gone at the end."""
    chosen = port or _free_port()
    environment = {**launch.env, "PORT": str(chosen)}
    process = subprocess.Popen(
        [launch.command, *launch.args, transport],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server = EverythingOverHttp(process, chosen)
    try:
        eventually(lambda: process.poll() is not None or _listens(chosen))
        assert process.poll() is None, f"server-everything did not start on port {chosen}"
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
