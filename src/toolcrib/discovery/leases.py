"""The right to read a server: several gateways share one catalog, and one of them reads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from toolcrib.catalog.store import CatalogStore, ServerRecord
from toolcrib.errors import StoreUnavailable

log = logging.getLogger(__name__)

LEASE_SECONDS = 120.0
LEASE_POLL_SECONDS = 0.25


class Leases:
    """Takes and gives back the leases of one gateway."""

    def __init__(self, store: CatalogStore, owner: str, now: Callable[[], float]) -> None:
        self._store = store
        self._owner = owner
        self._now = now

    async def take(self, server: str, is_settled: Callable[[ServerRecord | None], bool]) -> bool:
        """True when the server is ours to read; False when what others wrote of it meanwhile settles it."""
        while True:
            leased = self._store.try_lease(server, self._owner, self._now(), LEASE_SECONDS)
            if is_settled(self._store.servers().get(server)):
                return False
            if leased:
                return True
            await asyncio.sleep(LEASE_POLL_SECONDS)

    def give_back(self, server: str) -> None:
        try:
            self._store.release_lease(server, self._owner)
        except StoreUnavailable:
            log.debug("the lease on %s could not be given back; it runs out by itself", server)
