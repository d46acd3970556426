"""A gateway that listens as `toolcrib serve --http` does, in front of one scripted server, and tokens for it."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.fakes import tool
from tests.journeys.http_gateway import write_config
from tests.server.http_face import Bare
from tests.server.token_issuer import listening
from tests.upstream.http_servers import Out, Script, Seen, serve
from toolcrib.config.paths import Paths
from toolcrib.model.named_token import NamedToken, new_text
from toolcrib.storage.token_file import TokenFile

TOOLS = [tool("get_file"), tool("write_file"), tool("delete_file")]


async def answer(seen: Seen, out: Out) -> None:
    """A server of the newest revision that says which tool was run; under `/mcp` it has a prompt, too."""
    more = {"prompts": {}} if seen.path == "/mcp" else {}
    results: dict[str, Any] = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, **more}},
        "prompts/list": {"prompts": [{"name": "review"}]},
        "tools/list": {"tools": TOOLS},
        "tools/call": {"content": [{"type": "text", "text": f"ran {seen.message.get('params', {}).get('name')}"}]},
    }
    if seen.rpc not in results:
        await out.send(200, seen.error(-32601, "no such method"))
        return
    await out.send(200, seen.answer({**results[seen.rpc], "resultType": "complete"}))


@dataclass
class Face:
    """The owner's client, the server behind the gateway, and the tokens."""

    owner: Bare
    server: Script
    tokens: TokenFile

    def made(self, name: str, **may: Any) -> str:
        """A new token."""
        id, text, sha256 = new_text()
        token = NamedToken(id, name, sha256, time.time(), **may)
        self.tokens.change(lambda kept: (*kept, token))
        return text

    def revoke(self, name: str) -> None:
        self.tokens.change(lambda kept: tuple(token for token in kept if token.name != name))

    def client(self, token: str) -> Bare:
        return replace(self.owner, token=token)

    @property
    def origin(self) -> str:
        return self.owner.url.removesuffix("/mcp")


@asynccontextmanager
async def named_token_face(folder: Path, **discovery: Any) -> AsyncIterator[Face]:
    server, paths = Script(answer), Paths.of(os.environ)
    paths.state_dir.mkdir(parents=True, exist_ok=True)
    async with serve(server) as address:
        entry = {"url": f"{address}/mcp", "headers": {"Authorization": "Bearer the-server's-own"}}
        config = write_config(folder, {"files": entry, "mail": {"url": f"{address}/mail"}}, **discovery)
        async with listening(config, paths.token) as face:
            owner = replace(face, token=paths.token.read_text().strip())
            yield Face(owner, server, TokenFile(paths.named_tokens))
