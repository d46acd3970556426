"""The ways to peers: how they are found, and how they are spoken to where that is not HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from toolcrib.model.peer import AgentCard, PeerAddress, Sighting

OnAsked = Callable[[str, str, bytes], Awaitable[bytes]]
"""(id of the peer that asks, protocol, its message): the answer"""


class PeerFinder(Protocol):
    """Looks for peers, and lets them find us; belongs to the event loop."""

    async def start(self, seen: Callable[[Sighting], None]) -> None:
        """Begin to look; `seen` is called for each peer, and again when what was said of it changes."""

    async def announce(self, card: AgentCard, addresses: Sequence[PeerAddress], multiaddrs: Sequence[str] = ()) -> None:
        """Say that we are there, or that our card is another one now; `multiaddrs` are addresses for libp2p."""

    async def close(self) -> None:
        """Say goodbye and stop; closing twice is harmless."""


class PeerStreams(Protocol):
    """Single questions to peers and from them; who is on the other side was proved by the transport."""

    on_asked: OnAsked

    async def connect(self, peer_id: str, addresses: Sequence[str], seconds: float) -> str:
        """Be connected; at which of these addresses, or nothing where the peer came to us."""

    async def ask(self, peer_id: str, protocol: str, body: bytes, seconds: float) -> bytes:
        """The peer's answer; raises ServerConnectionError where it can't be reached in time."""
