"""The right to read a server: several gateways share one catalog, and one of them reads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from toolcrib.catalog.followed import Aside
from toolcrib.catalog.store import CatalogStore, ServerRecord
from toolcrib.errors import StoreUnavailable

log = logging.getLogger(__name__)

LEASE_SECONDS = 120.0
LEASE_POLL_SECONDS = 0.25


class Leases:
    """Takes and gives back the leases of one gateway."""

    def __init__(
        self, store: CatalogStore, owner: str, now: Callable[[], float], aside: Aside = asyncio.to_thread
    ) -> None:
        self._store = store
        self._owner = owner
        self._now = now
        self._aside = aside

    async def take(self, launch_key: str, is_settled: Callable[[ServerRecord | None], bool]) -> bool:
        """True when the server is ours to read; False when what others wrote of it meanwhile settles it."""
        while True:
            leased, record = await self._aside(self._try, launch_key)
            if is_settled(record):
                return False
            if leased:
                return True
            await asyncio.sleep(LEASE_POLL_SECONDS)

    async def give_back(self, launch_key: str) -> None:
        try:
            await self._aside(self._store.release_lease, launch_key, self._owner)
        except StoreUnavailable:
            log.debug("a lease could not be given back; it runs out by itself")

    def _try(self, launch_key: str) -> tuple[bool, ServerRecord | None]:
        leased = self._store.try_lease(launch_key, self._owner, self._now(), LEASE_SECONDS)
        return leased, self._store.servers().get(launch_key)
