"""Where the desk writes peers down, and what follows from it in the engine and for the person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from toolcrib.config.settings import Settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.peer_specs import peer_launch
from toolcrib.engine.peer_trust import PeerReview
from toolcrib.errors import StoreUnavailable, ToolcribError
from toolcrib.model.peer import KnownPeer, PeerAddress
from toolcrib.model.server import ServerSpec
from toolcrib.peers.book import BookChanges
from toolcrib.peers.names import server_name
from toolcrib.peers.store import PeerStore

log = logging.getLogger(__name__)

TOFU = "tofu"


class PeerRecords:
    """Fulfils `PeerRecord`. Reads and writes go one after the other, so that what was just written is never forgotten."""

    def __init__(self, engine: Engine, store: PeerStore, review: PeerReview, settings: Callable[[], Settings]) -> None:
        self._engine = engine
        self._store = store
        self._review = review
        self._settings = settings
        self._turn = asyncio.Lock()
        self._is_failing = False
        # The catalog's change token at the last look.
        self._token: int | None = None
        self._rows: Sequence[KnownPeer] = ()

    def rows(self) -> Sequence[KnownPeer]:
        return self._rows

    async def follow(self) -> None:
        """Take over what persons decided; where the store can't be asked, all stays."""
        async with self._turn:
            token = self._engine.catalog.snapshot.token
            if token is None or token != self._token:
                self._token = token if await self._try(self._store.peers) else None

    async def write(self, changes: BookChanges) -> bool:
        def save() -> list[KnownPeer]:
            self._store.drop_seen(changes.dropped)
            self._store.save_peers(changes.saved)
            return self._store.peers()

        async with self._turn:
            is_written = await self._try(save)
        self._engine.look_again()
        return is_written

    async def found(self, peer: KnownPeer) -> None:
        """Propose what a peer offers; under `tofu` the first one of a name needs no person."""
        try:
            await asyncio.to_thread(self._propose, peer)
        except (ToolcribError, OSError) as problem:
            log.warning("%s could not be proposed: %s", peer.server, problem)
        async with self._turn:
            await self._try(self._store.peers)
        self._engine.look_again()
        if (spec := self._spec(peer)) is not None:
            self._engine.refresher.changed(spec)

    async def left(self, peer: KnownPeer) -> None:
        if (spec := self._spec(peer)) is not None:
            await self._engine.pool.disconnect(spec)

    def moved(self, peer: KnownPeer, address: PeerAddress) -> None:
        self._engine.peer_routes.moved(peer.peer_id, address)

    def _propose(self, peer: KnownPeer) -> None:
        proposal = self._review.propose(peer)
        is_first_of_its_name = peer.trust == "seen" and peer.server == server_name(peer.title)
        if proposal is not None and self._settings().peers_trust == TOFU and is_first_of_its_name:
            self._review.approve(proposal, TOFU)
            log.warning("%s (%s) is trusted, as the first of its name", peer.server, peer.peer_id)

    def _spec(self, peer: KnownPeer) -> ServerSpec | None:
        return self._engine.specs().get(ServerSpec(peer.server, peer_launch(peer.peer_id)).launch_key)

    async def _try(self, work: Callable[[], list[KnownPeer]]) -> bool:
        try:
            self._rows = await asyncio.to_thread(work)
        except StoreUnavailable as trouble:
            level = logging.DEBUG if self._is_failing else logging.WARNING  # once, not every second
            log.log(level, "peers can't be written down or read now: %s", trouble.message)
            self._is_failing = True
            return False
        self._is_failing = False
        return True
