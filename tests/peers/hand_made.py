"""Peers made by hand, which serve whatever card they like and announce whatever they like."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from zeroconf import DNSOutgoing, DNSPointer, Zeroconf
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf
from zeroconf.const import _CLASS_IN, _FLAGS_AA, _FLAGS_QR_RESPONSE, _TYPE_PTR

from tests.peers.tls_listener import tls_listener
from toolcrib.lan.dns_sd import MCP_TYPE
from toolcrib.model.peer import PeerAddress
from toolcrib.peers.card import own_card, signed_card
from toolcrib.peers.certificate import certificate_hash, kept_certificate, server_context
from toolcrib.peers.identity import Identity
from toolcrib.peers.signatures import canonical, signature_of

OK_HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"

AGAIN_SECONDS = 2.0


class HandMadePeer:
    """A peer with a real key and a real certificate; `answer` is all that it says, and `asked` what it was asked for."""

    def __init__(self, name: str, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.name = name
        self.identity = Identity.kept_at(folder / f"{name}.key")
        self.pem = folder / f"{name}.pem"
        self.tls = certificate_hash(kept_certificate(self.pem, self.identity.peer_id))
        self.address = PeerAddress("", 0)
        self.asked: list[str] = []
        self.body: Callable[[], bytes] = self.card
        self.answer: Callable[[asyncio.StreamWriter], Awaitable[None]] = self._answer_with_body
        self.others: dict[str, bytes] = {}

    @property
    def peer_id(self) -> str:
        return self.identity.peer_id

    @property
    def looks(self) -> int:
        """How often its card was asked for."""
        return sum(line.startswith("GET /agent/card") for line in self.asked)

    def document(self, *tools: Mapping[str, Any], now: float | None = None, **changes: Any) -> dict[str, Any]:
        """Its card before it is signed, with these definitions of tools."""
        given = {"version": "1", "port": self.address.port, "tls": self.tls, "now": now or time.time()}
        card = own_card(self.identity, name=self.name, definitions=[], **given)
        document: dict[str, Any] = json.loads(signed_card(card, self.identity))
        del document["signatures"], document["etag"]
        return {**document, "tools": list(tools), "toolCount": len(tools), **changes}

    def signed(self, document: Mapping[str, Any], by: Identity | None = None) -> bytes:
        signature = signature_of(document, by or self.identity, "agent-card+jws")
        return canonical({**document, "signatures": [signature]})

    def card(self, *tools: Mapping[str, Any], **changes: Any) -> bytes:
        return self.signed(self.document(*tools, **changes))

    def announcement(self) -> AsyncServiceInfo:
        """What it says on the network."""
        return announced(self.peer_id, self.address)

    @asynccontextmanager
    async def listening(self, host: str, port: int = 0) -> AsyncIterator[HandMadePeer]:
        with _twice_lost_is_lost():
            async with tls_listener(self._serve, server_context(self.pem), host, port) as self.address:
                yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        request = head.partition("\r\n")[0]
        self.asked.append(request)
        path = request.split(" ")[1]
        if path == "/agent/card":
            await self.answer(writer)
        else:
            writer.write(_whole(self.others[path]) if path in self.others else NOT_FOUND)
        await writer.drain()

    async def _answer_with_body(self, writer: asyncio.StreamWriter) -> None:
        writer.write(_whole(self.body()))


@contextmanager
def _twice_lost_is_lost() -> Iterator[None]:
    """Where the other side breaks off, asyncio (Python 3.11) may end a secured connection a second time, and trip over it."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler() or asyncio.AbstractEventLoop.default_exception_handler

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not (isinstance(context.get("exception"), AttributeError) and "connection_lost" in str(context)):
            before(loop, context)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)


def _whole(body: bytes) -> bytes:
    return OK_HEAD + b"content-length: %d\r\n\r\n" % len(body) + body


def announced(peer_id: str, address: PeerAddress) -> AsyncServiceInfo:
    """What somebody with this id would say on the network, or somebody else says falsely."""
    short = peer_id[-12:]
    return AsyncServiceInfo(
        MCP_TYPE,
        f"{short}.{MCP_TYPE}",
        port=address.port,
        addresses=[socket.inet_aton(address.host)],
        properties={"v": "1", "id": peer_id},
        server=f"{short}.local.",
    )


def only_named(name: str) -> DNSOutgoing:
    """That there is a service of this name, and nothing about it."""
    packet = DNSOutgoing(_FLAGS_QR_RESPONSE | _FLAGS_AA)
    packet.add_answer_at_time(DNSPointer(MCP_TYPE, _TYPE_PTR, _CLASS_IN, 4500, f"{name}.{MCP_TYPE}"), 0)
    return packet


class Speaker:
    """Announces services at once, as no honest program does: without asking whether the names are free."""

    def __init__(self, opened: Zeroconf) -> None:
        self._opened = opened

    async def send(self, *packets: DNSOutgoing) -> None:
        for number, packet in enumerate(packets):
            self._opened.async_send(packet)
            if number % 10 == 9:
                await asyncio.sleep(0.005)  # the network drops what comes too fast

    async def announce(self, *infos: AsyncServiceInfo) -> None:
        await self.send(*(self._opened.generate_service_broadcast(info, None) for info in infos))


@asynccontextmanager
async def speaking(host: str) -> AsyncIterator[Speaker]:
    opened = AsyncZeroconf(interfaces=[host])
    await opened.zeroconf.async_wait_for_start()
    try:
        yield Speaker(opened.zeroconf)
    finally:
        await opened.async_close()


async def looked_at(
    peers: Sequence[HandMadePeer],
    times: int,
    told: Callable[[], str],
    seconds: float = 30,
    speaker: Speaker | None = None,
) -> None:
    """Wait until each of these was asked for its card so often.

    `speaker` announces those again that nobody has looked at: a machine that listens for peers may hear the network a moment later.
    """
    deadline, again = time.monotonic() + seconds, time.monotonic() + AGAIN_SECONDS
    while missing := [peer for peer in peers if peer.looks < times]:
        assert time.monotonic() < deadline, f"not looked at: {[peer.name for peer in missing]}\n{told()}"
        await asyncio.sleep(0.05)
        if speaker is not None and time.monotonic() > again:
            await speaker.announce(*(peer.announcement() for peer in missing if not peer.looks))
            again += AGAIN_SECONDS
