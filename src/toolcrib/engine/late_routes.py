"""The way to peers; nothing about peers is loaded before one of them is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.model.peer import PeerAddress
from toolcrib.upstream.link import Link, LinkEars, TransportLimits

if TYPE_CHECKING:
    from toolcrib.engine.peer_wiring import StoredRoutes
    from toolcrib.upstream.peer_routes import PeerLinks


class LateRoutes:
    """Fulfils `PeerRoutes`; opened with the first peer that is called."""

    def __init__(self, settings: Callable[[], Settings], paths: Paths) -> None:
        self._settings = settings
        self._paths = paths
        self._opened: StoredRoutes | None = None
        self._opening = asyncio.Lock()
        # The way over libp2p, in the process that speaks it.
        self.streams: PeerLinks | None = None

    async def open(self, server: str, peer_id: str, ears: LinkEars, limits: TransportLimits) -> Link:
        opened = await self._stored()
        return await opened.routes.open(server, peer_id, ears, limits)

    def moved(self, peer_id: str, address: PeerAddress) -> None:
        """A peer was met at this address: whoever is connected to it elsewhere has to look anew."""
        if self._opened is not None:
            self._opened.routes.moved(peer_id, address)

    async def _stored(self) -> StoredRoutes:
        async with self._opening:
            if self._opened is not None:
                return self._opened
            module = await asyncio.to_thread(import_module, "toolcrib.engine.peer_wiring")
            opened: StoredRoutes = await asyncio.to_thread(
                module.StoredRoutes, self._settings, self._paths, lambda: self.streams
            )
            self._opened = opened
            return opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
