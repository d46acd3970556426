"""Real libp2p nodes, each in its own process on the loopback address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolcrib.lan.libp2p_process import CARD_PROTOCOL, Libp2pProcess, NodeSettings
from toolcrib.lan.protocols import OnAsked
from toolcrib.peers.identity import Identity

START_SECONDS = 40.0
# The node runs on a Python that has the extra, which may be another one than that of the tests.
needs_libp2p = pytest.mark.usefixtures("libp2p_python")


async def nobody(_: str, __: str, ___: bytes) -> bytes:
    return b"{}"


async def named_kitchen(_: str, protocol: str, body: bytes) -> bytes:
    """Whoever asks gets a card with a name and nothing else."""
    return b'{"name":"kitchen"}' if protocol == CARD_PROTOCOL and not body else b"{}"


@dataclass
class Node:
    """A node and what it told."""

    process: Libp2pProcess
    identity: Identity
    found: list[tuple[str, tuple[str, ...], str]]
    gone: list[str]
    running: asyncio.Task[None] | None = field(default=None)

    @property
    def peer_id(self) -> str:
        return self.identity.peer_id

    @property
    def address(self) -> str:
        return self.process.addresses[0]

    async def ask(self, other: Node, protocol: str, body: bytes, seconds: float = 20.0) -> bytes:
        await self.process.connect(other.peer_id, other.process.addresses, seconds)
        return await self.process.ask(other.peer_id, protocol, body, seconds)


@asynccontextmanager
async def node(letter: str, folder: Path, on_asked: OnAsked = nobody, **settings: Any) -> AsyncIterator[Node]:
    """A node whose key is made of one letter; it is gone when the block ends."""
    key = letter.encode() * 32
    found: list[tuple[str, tuple[str, ...], str]] = []
    gone: list[str] = []
    process = Libp2pProcess(
        NodeSettings(listen=(("127.0.0.1", 0),), interfaces=("127.0.0.1",), **settings),
        key,
        on_asked,
        on_found=lambda *told: found.append(told),
        on_gone=gone.append,
        log_file=folder / f"{letter}.log",
    )
    started = Node(process, Identity(key), found, gone)
    started.running = asyncio.create_task(process.run())
    try:
        async with asyncio.timeout(START_SECONDS):
            ready = asyncio.create_task(process.ready.wait())
            await asyncio.wait({ready, started.running}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
        if started.running.done():
            started.running.result()
        yield started
    finally:
        started.running.cancel()
        with suppress(asyncio.CancelledError):
            await started.running


async def until(holds: Callable[[], Any], seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.05)
