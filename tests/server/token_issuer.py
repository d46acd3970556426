"""An issuer of access tokens on the loopback address, and a gateway that asks for them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.server.http_face import Bare
from tests.upstream.http_servers import Out, Script, Seen, serve
from toolcrib import open_gateway
from toolcrib.server.listening import listen

BOUND_SECONDS = 20.0
# Making one takes a while, so all tests share them.
KEYS: Mapping[str, Any] = {
    "rsa": rsa.generate_private_key(65537, 2048),
    "ec": ec.generate_private_key(ec.SECP256R1()),
    "ed": ed25519.Ed25519PrivateKey.generate(),
}
FOREIGN = rsa.generate_private_key(65537, 2048)


def public(name: str, key: Any, **more: Any) -> dict[str, Any]:
    """A key as an issuer publishes it."""
    writer: Any = {"rsa": RSAAlgorithm, "ec": ECAlgorithm, "ed": OKPAlgorithm}[name.partition("-")[0]]
    return {**json.loads(writer.to_jwk(key.public_key())), "kid": name, **more}


@dataclass
class Issuer:
    """Publishes keys and signs tokens; `down` is the status of every answer while it is set."""

    keys: list[dict[str, Any]] = field(default_factory=lambda: [public(name, key) for name, key in KEYS.items()])
    metadata: dict[str, Any] = field(default_factory=dict)
    down: int | None = None
    slow: asyncio.Event | None = None
    address: str = ""
    audience: str = ""
    script: Script = field(init=False)

    def __post_init__(self) -> None:
        self.script = Script(self._answer)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with serve(self.script) as self.address:
            yield

    @property
    def fetches(self) -> int:
        return len([seen for seen in self.script.seen if seen.path == "/keys"])

    async def _answer(self, seen: Seen, out: Out) -> None:
        if self.slow is not None:
            await self.slow.wait()
        known = {"issuer": self.address, "jwks_uri": f"{self.address}/keys", **self.metadata}
        pages: dict[str, Any] = {"/.well-known/openid-configuration": known, "/keys": {"keys": self.keys}}
        if self.down is not None or seen.path not in pages:
            await out.send(self.down or 404, b"<html>")
        else:
            await out.send(200, json.dumps(pages[seen.path]).encode())

    def token(self, *, key: Any = None, algorithm: str = "RS256", kid: str | None = "rsa", **changes: Any) -> str:
        """A good token, but for these changes of its claims; None leaves a claim out."""
        now = int(time.time())
        claims = {"iss": self.address, "aud": self.audience, "sub": "ann", "client_id": "agent", "exp": now + 300}
        left = {name: value for name, value in {**claims, **changes}.items() if value is not None}
        return jwt.encode(left, key or KEYS["rsa"], algorithm, headers={} if kid is None else {"kid": kid})


@asynccontextmanager
async def listening(config: Path, token_file: Path) -> AsyncIterator[Bare]:
    """A gateway that listens as `toolcrib serve --http` does, and a client that has no token yet."""
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with open_gateway(config) as gateway, httpx2.AsyncClient(timeout=BOUND_SECONDS) as http:
        task = asyncio.create_task(
            listen(gateway, host="127.0.0.1", port=0, token_file=token_file, stop=stop, on_ready=ready.set_result)
        )
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if task.done():
                await task
            yield Bare(http, await ready, token="")
        finally:
            stop.set()
            async with asyncio.timeout(BOUND_SECONDS):
                await asyncio.gather(task, return_exceptions=True)
