"""The HTTP face in the test's own loop, and a client that sends it bare requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.upstream.http_servers import serve
from toolcrib import open_gateway
from toolcrib.server.http import build_app
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server

TOKEN = "the-right-token"
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@asynccontextmanager
async def http_face(config: Path) -> AsyncIterator[Bare]:
    """A gateway with this configuration, served on a free port, and a client for it."""
    async with open_gateway(config) as gateway:
        server = build_server(MetaTools(gateway), instructions="")
        app = build_app(server, lambda: gateway.settings, host="127.0.0.1", token=TOKEN)
        async with serve(app) as address, httpx2.AsyncClient(timeout=10) as http:
            yield Bare(http, f"{address}/mcp")


@dataclass
class Bare:
    """Sends requests byte by byte as it is told; no SDK stands between."""

    http: httpx2.AsyncClient
    url: str
    era: str = "modern"
    session: dict[str, str] = field(default_factory=dict)
    token: str = TOKEN

    async def open(self, era: str, name: str = "bare") -> Bare:
        """The same client in one era; the handshake is done where the era has one."""
        bare = Bare(self.http, self.url, era, token=self.token)
        if era == "legacy":
            info = {"name": name, "version": "1"}
            params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
            hello = await bare.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
            bare.session = {"mcp-session-id": hello.headers["mcp-session-id"], "mcp-protocol-version": LEGACY}
            await bare.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return bare

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        authorization = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return await self.http.post(
            self.url, content=content, headers={**ACCEPT, **authorization, **self.session, **headers}
        )

    async def request(self, method: str, params: Mapping[str, Any], **headers: str) -> list[dict[str, Any]]:
        """Every message that came back for one request, the answer last."""
        meta = dict(params.get("_meta", {}))
        if self.era == "modern":
            meta |= {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "1"},
            }
            named = {"mcp-name": params["name"]} if isinstance(params.get("name"), str) else {}
            headers = {"mcp-protocol-version": MODERN, "mcp-method": method, **named, **headers}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        return messages_of(await self.post(message, **headers))

    async def execute(self, server: str, tool: str, arguments: Any, **meta: Any) -> list[dict[str, Any]]:
        asked = {"server": server, "tool": tool, "arguments": arguments}
        return await self.request("tools/call", {"name": "execute_tool", "arguments": asked, "_meta": meta})


def messages_of(response: httpx2.Response) -> list[dict[str, Any]]:
    """The JSON-RPC messages in an answer, whether it came as JSON or as an event stream."""
    if response.headers["content-type"].startswith("application/json"):
        return [response.json()]
    lines = response.text.splitlines()
    return [json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:") and line[5:].strip()]
