"""The bearers of a process: one for each sign-in, however many links use it."""

from __future__ import annotations

import asyncio
import logging

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
        connect_seconds: float,
        sign_in_alone: SignInAlone | None = None,
    ) -> Bearer:
        """The bearer with what is kept of its sign-in now; a store that can't be read counts as none.

        `sign_in_alone` signs in where no person is needed.
        """
        key = record_key(resource, account)
        if (bearer := self._by_key.get(key)) is None:
            http = SignInHttp(resource, connect_seconds=connect_seconds)
            bearer = self._by_key[key] = Bearer(key, self._store, http)
        bearer.sign_in_alone = sign_in_alone
        try:
            await bearer.look()
        except StoreUnavailable as trouble:
            log.warning("%s: its sign-in can't be used: %s", server, trouble.message)
        return bearer

    async def close(self) -> None:
        await asyncio.gather(*(bearer.close() for bearer in self._by_key.values()))
