"""Whoever comes to the port of a machine: with a key of its own, a proof, and whatever it likes to say."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx2

from tests.peers.tls_listener import tls_listener
from toolcrib.config.paths import Paths
from toolcrib.model.peer import PeerAddress
from toolcrib.peers.call_proof import proof_for
from toolcrib.peers.card import own_card, signed_card
from toolcrib.peers.certificate import any_certificate, certificate_hash, kept_certificate, server_context
from toolcrib.peers.identity import Identity

MCP_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class Visited(Protocol):
    """A machine with a port for peers."""

    @property
    def address(self) -> PeerAddress: ...

    @property
    def peer_id(self) -> str: ...

    @property
    def paths(self) -> Paths: ...


class Stranger:
    """Somebody with a key; `client` believes any certificate, as only somebody careless or hostile would."""

    def __init__(self, folder: Path, client: httpx2.AsyncClient) -> None:
        self.identity = Identity.kept_at(folder / "peer.key")
        self.client = client

    async def card_of(self, machine: Visited) -> dict[str, Any]:
        response = await self.client.get(f"https://{machine.address}/agent/card")
        assert response.status_code == httpx2.codes.OK
        return dict(response.json())

    def proof(self, machine: Visited) -> str:
        """A proof that this machine believes."""
        certificate = kept_certificate(machine.paths.peer_certificate, machine.peer_id)
        return proof_for(self.identity, machine.peer_id, certificate_hash(certificate), time.time())

    def card(self, name: str = "stranger", **more: Any) -> bytes:
        """A signed card of its own."""
        given = {"version": "1", "definitions": [], "port": 0, "tls": "", "now": time.time(), **more}
        return signed_card(own_card(self.identity, name=name, **given), self.identity)

    async def leave_card(self, machine: Visited, body: bytes | None = None) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.proof(machine)}"}
        content = self.card() if body is None else body
        return await self.client.post(f"https://{machine.address}/agent/card", headers=headers, content=content)

    async def ask(self, machine: Visited, method: str, proof: str | None = None, **params: Any) -> httpx2.Response:
        """A request of the handshake era, which has no session there."""
        given = self.proof(machine) if proof is None else proof
        headers = {**MCP_HEADERS, "mcp-protocol-version": "2025-06-18", "authorization": f"Bearer {given}"}
        content = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return await self.client.post(f"https://{machine.address}/mcp", headers=headers, content=content)


@asynccontextmanager
async def stranger(folder: Path) -> AsyncIterator[Stranger]:
    async with httpx2.AsyncClient(verify=any_certificate(), trust_env=False, timeout=10) as client:
        yield Stranger(folder, client)


@asynccontextmanager
async def answering(folder: Path, body: bytes) -> AsyncIterator[PeerAddress]:
    """Somebody with a certificate of its own who gives this body to whoever asks for anything."""
    kept_certificate(folder / "relay.pem", "relay")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    async with tls_listener(answer, server_context(folder / "relay.pem"), "127.0.0.1") as address:
        yield address


def answer_in(response: httpx2.Response) -> dict[str, Any]:
    """The JSON-RPC answer in the one event of a response."""
    data = next(line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {"))
    return dict(json.loads(data))
