"""The book of peers and where it is written down, kept in step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from toolcrib.model.peer import KnownPeer, PeerAddress
from toolcrib.peers.book import BookChanges, PeerBook


class PeerRecord(Protocol):
    """Where peers are written down, and what follows from that."""

    async def write(self, changes: BookChanges) -> bool:
        """Keep what was seen, so that `rows` has it, and what others decided meanwhile; whether that could be done."""

    def rows(self) -> Sequence[KnownPeer]:
        """All peers as they are written down now."""

    async def follow(self) -> None:
        """Take over what persons decided since."""

    async def found(self, peer: KnownPeer) -> None:
        """A peer sent a card that was not known: ask a person, where one has to decide."""

    async def left(self, peer: KnownPeer) -> None:
        """A peer that was there does not answer."""

    def moved(self, peer: KnownPeer, address: PeerAddress) -> None:
        """A peer that was there answers at another address."""


class KeptBook:
    """Belongs to the event loop; writes go one after the other."""

    def __init__(self, book: PeerBook, record: PeerRecord) -> None:
        self._book = book
        self._record = record
        self._writing = asyncio.Lock()

    async def follow(self) -> None:
        """Take over what persons decided."""
        await self._record.follow()
        self._book.load(self._record.rows())

    async def write(self) -> None:
        """Write down what has changed."""
        async with self._writing:
            changes = self._book.changes()
            if (changes.saved or changes.dropped) and await self._record.write(changes):
                self._book.written(changes)
                self._book.load(self._record.rows())

    async def has_new_card(self, peer_id: str) -> None:
        """Let a person decide about a card that was not known; first it is written down."""
        await self.write()
        if (peer := self._book.get(peer_id)) is not None:
            await self._record.found(peer)
        self._book.load(self._record.rows())

    async def left(self, peer: KnownPeer) -> None:
        """A peer does not answer: whoever is connected to it has to look anew."""
        await self._record.left(peer)

    def moved(self, peer: KnownPeer, address: PeerAddress) -> None:
        """A peer answers at another address: whoever is connected to it elsewhere has to look anew."""
        self._record.moved(peer, address)
