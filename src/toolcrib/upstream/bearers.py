"""The bearers of a process: one for each sign-in, however many links use it."""

from __future__ import annotations

import asyncio
import logging

import httpx2

from toolcrib.errors import StoreUnavailable
from toolcrib.signin.record import record_key
from toolcrib.signin.store import SignInStore
from toolcrib.upstream.bearer import Bearer, SignInAlone
from toolcrib.upstream.sign_in_http import SignInHttp

log = logging.getLogger(__name__)


class Bearers:
    """Finds the bearer for a server's address and account."""

    def __init__(self, store: SignInStore) -> None:
        self._store = store
        self._by_key: dict[str, Bearer] = {}

    async def get(
        self,
        server: str,
        resource: str,
        account: str,
        client: httpx2.AsyncClient,
        sign_in_alone: SignInAlone | None = None,
    ) -> Bearer:
        """The bearer with what is kept of its sign-in now; a store that can't be read counts as none.

        `sign_in_alone` signs in where no person is needed.
        """
        key = record_key(resource, account)
        bearer = self._by_key.setdefault(key, Bearer(key, self._store, SignInHttp(client, resource)))
        bearer.sign_in_alone = sign_in_alone
        try:
            await bearer.look()
        except StoreUnavailable as trouble:
            log.warning("%s: its sign-in can't be used: %s", server, trouble.message)
        return bearer

    async def close(self) -> None:
        await asyncio.gather(*(bearer.close() for bearer in self._by_key.values()))
