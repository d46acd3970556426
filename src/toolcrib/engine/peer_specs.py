"""Trusted peers as servers: what a workspace shows of them, from the store that all processes of a person share."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import closing

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import StoreUnavailable
from toolcrib.model.peer import FROM_PEER, KnownPeer, peer_url
from toolcrib.model.server import DeclaredTool, Origin, RemoteLaunch, ServerSpec
from toolcrib.peers.store import PeerStore
from toolcrib.storage.memory_peers import MemoryPeers
from toolcrib.storage.sqlite_peers import SqlitePeers
from toolcrib.workspace.overlay import Overlay

log = logging.getLogger(__name__)


def open_peer_store(paths: Paths) -> PeerStore:
    """The peers on disk, or in memory where the disk can't be used."""
    try:
        return SqlitePeers(paths.catalog)
    except StoreUnavailable as trouble:
        log.warning("peers are kept in memory only: %s", trouble.message)
        return MemoryPeers()


def stored_overlay(settings: Settings, paths: Paths) -> Overlay:
    """The peers that are trusted and were there lately, for a command that looks once."""
    with closing(open_peer_store(paths)) as store:
        return overlay_of(store.peers(), settings, time.time())


class PeerSpecs:
    """Trusted peers as they are known now; who is stale changes with the time alone."""

    def __init__(
        self, store: PeerStore, settings: Callable[[], Settings], now: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._settings = settings
        self._now = now
        self._token: int | None = None
        self._was_read = False
        self._peers: list[KnownPeer] = []
        self._made: tuple[object, Overlay] = (None, Overlay())

    @classmethod
    def opened(cls, settings: Callable[[], Settings], paths: Paths) -> PeerSpecs:
        return cls(open_peer_store(paths), settings)

    def overlay(self) -> Overlay:
        """What to lay over; the same object as long as nothing changed, since every workspace asks every second."""
        settings, now = self._settings(), self._now()
        shown = _shown(self._peers, settings, now)
        source = shown, settings.peers_connect_timeout_seconds
        if self._made[0] != source:
            self._made = source, overlay_of(shown, settings, now)
        return self._made[1]

    async def follow(self, token: int | None) -> None:
        """Look at the store, if the catalog's change token is another one than the last time."""
        if self._was_read and token == self._token:
            return
        try:
            self._peers = await asyncio.to_thread(self._store.peers)
            self._token, self._was_read = token, True
        except StoreUnavailable as trouble:
            log.debug("peers could not be looked up: %s", trouble.message)

    def close(self) -> None:
        self._store.close()


def overlay_of(peers: Iterable[KnownPeer], settings: Settings, now: float) -> Overlay:
    """The servers that trusted peers are, while they answer, with the tools that a person reviewed."""
    shown = _shown(peers, settings, now)
    specs = tuple(peer_spec(peer, settings.peers_connect_timeout_seconds) for peer in shown)
    return Overlay(specs, {spec.launch_key: dict(peer.pins) for spec, peer in zip(specs, shown, strict=True)})


def _shown(peers: Iterable[KnownPeer], settings: Settings, now: float) -> list[KnownPeer]:
    stale = settings.peers_stale_after_seconds
    there = [peer for peer in peers if peer.is_trusted and not peer.is_stale(now, stale)]
    # One that only calls others is no server, however much it is trusted.
    return [peer for peer in there if peer.listens_for_https or (peer.multiaddrs and settings.peers_libp2p)]


def peer_spec(peer: KnownPeer, connect_seconds: float) -> ServerSpec:
    """A peer as a server, whose tools are those of its card until it was read."""
    definitions = peer.card.definitions or () if peer.card is not None else ()
    return ServerSpec(
        name=peer.server,
        launch=peer_launch(peer.peer_id),
        title=peer.title,
        description=f"Tools of {peer.title}, another agent on the network",
        startup_timeout_seconds=connect_seconds,
        declared_tools=tuple(DeclaredTool(str(one["name"]), definition=one) for one in definitions),
        origin=Origin(FROM_PEER),
    )


def peer_launch(peer_id: str) -> RemoteLaunch:
    return RemoteLaunch(peer_url(peer_id))
