"""Our own row among the running gateways, for as long as we run."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from toolcrib.catalog.store import CatalogStore, GatewayRow, Users
from toolcrib.engine.gateway_rows import is_gone
from toolcrib.errors import StoreUnavailable

log = logging.getLogger(__name__)

BEAT_SECONDS = 10.0


class OwnGatewayRow:
    """Signs in, keeps the row fresh, signs out; rows that a killed gateway left behind are cleared away."""

    def __init__(
        self,
        store: CatalogStore,
        owner: str,
        face: str,
        statuses: Callable[[], Mapping[str, str]],
        *,
        users: Callable[[], Users] = dict,
        started_with: Mapping[str, Any] = MappingProxyType({}),
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        self._store = store
        self._owner = owner
        self._face = face
        self._statuses = statuses
        self._users = users
        self._started_with = started_with
        self._beat_seconds = beat_seconds
        self._beating: asyncio.Task[None] | None = None

    async def start(self) -> None:
        with suppress(StoreUnavailable):
            await asyncio.to_thread(self._sign_in)
        self._beating = asyncio.create_task(self._beat())

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            with suppress(asyncio.CancelledError):
                await self._beating
        with suppress(StoreUnavailable):
            await asyncio.to_thread(self._store.gateway_gone, self._owner)

    def _sign_in(self) -> None:
        now = time.time()
        self._clear_away(now)
        row = GatewayRow(self._owner, os.getpid(), self._face, now, now, started_with=self._started_with)
        self._store.gateway_started(row)

    def _clear_away(self, now: float) -> None:
        """Take out the rows of killed gateways, and with them their leases: what they were reading can be read at once."""
        for row in self._store.gateways():
            if is_gone(row, now):
                self._store.gateway_gone(row.owner)

    async def renew(self) -> None:
        """Write down how things stand now."""
        try:
            told = self._statuses(), self._users()
            await asyncio.to_thread(self._store.gateway_seen, self._owner, time.time(), *told)
        except StoreUnavailable as trouble:
            log.debug("the status row could not be written: %s", trouble.message)
        except Exception as trouble:  # without it the gateway would seem gone: it goes on, whatever happens
            is_debug = log.isEnabledFor(logging.DEBUG)
            log.warning("the status row could not be written: %r", trouble, exc_info=is_debug)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._beat_seconds)
            await self.renew()
            with suppress(StoreUnavailable):
                await asyncio.to_thread(self._clear_away, time.time())
