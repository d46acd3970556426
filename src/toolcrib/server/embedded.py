"""The gateway as an MCP server inside somebody else's program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from starlette.types import ASGIApp, Receive, Scope, Send

from toolcrib.errors import ValidationError
from toolcrib.gateway import Gateway
from toolcrib.server.http import build_app
from toolcrib.server.instructions import gateway_instructions
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server
from toolcrib.server.stdio import serve_stdio


class MCPDiscoveryServer:
    """Serves the five tools of an open gateway: as an ASGI application, or on this process's own pipes."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.meta_tools = MetaTools(gateway)
        self.sdk_server = build_server(
            self.meta_tools,
            instructions=gateway_instructions(gateway),
            instructions_for=partial(gateway_instructions, gateway),
        )

    @asynccontextmanager
    async def asgi_app(self, *, token: str | None, hosts: Iterable[str] = ()) -> AsyncIterator[ASGIApp]:
        """An application to serve or to mount; it answers at `http.path` (`/mcp`) while the block lasts.

        Whoever calls must show `token` as a bearer token. None leaves it to your program who may call: then nobody else
        must be able to reach it. Besides those of this machine only the host names in `hosts` and in the setting
        `http.allowedHosts` are answered.
        """
        if token is not None and not token.strip():
            raise ValidationError("the token is empty, so anybody could use it", hint="None asks for no token at all.")
        app = build_app(
            self.sdk_server,
            lambda: self._gateway.settings,
            host=self._gateway.settings.http_host,
            token=token,
            more_hosts=hosts,
        )
        try:
            async with self.sdk_server.session_manager.run():
                yield _Running(app)
        finally:
            await self.meta_tools.close()

    async def run_stdio(self, stop: asyncio.Event | None = None) -> None:
        """Serve standard input and output until the client leaves or `stop` is set; what is printed goes to standard error."""
        await serve_stdio(self._gateway, stop or asyncio.Event())


class _Running:
    """An application that is started and stopped by its block, whatever the server around it does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        kind = ""
        while kind != "lifespan.shutdown":
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
