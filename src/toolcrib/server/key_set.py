"""The public keys of an issuer: fetched when they are needed, and kept while they can't be fetched again."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

log = logging.getLogger(__name__)

# An unknown key may be a new one, but anybody can name one: so often the issuer is asked for it.
ASK_AGAIN_SECONDS = 30.0
FIRST_RETRY_SECONDS = 1.0


class Key(Protocol):
    """A public key, as far as it matters which one it is."""

    @property
    def id(self) -> str | None: ...


class KeysUnavailable(Exception):
    """It can't be said whether a token is good: the keys of its issuer could not be fetched."""


K = TypeVar("K", bound=Key)


class KeySet(Generic[K]):
    """Finds the key that signed a token; one fetch at a time, whoever asks. `fetch` raises ConnectionError where it fails."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Sequence[K]]],
        fresh_seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._fresh_seconds = fresh_seconds
        self._now = now
        self._keys: Sequence[K] = ()
        self._fetched_at: float | None = None
        self._asked_at: float | None = None
        self._is_failing = False
        self._fetching = asyncio.Lock()

    async def find(self, id: str | None) -> K | None:
        """The key of this id, or without one the only key that there is; raises KeysUnavailable."""
        if self._is_old() and self._may_ask():
            await self._ask()
        found = self._known(id)
        if found is None and self._may_ask():
            await self._ask()
            found = self._known(id)
        if found is None and self._is_failing:  # it may be one that is new since
            raise KeysUnavailable
        return found

    def _known(self, id: str | None) -> K | None:
        fitting = [key for key in self._keys if id is None or key.id == id]
        return fitting[0] if len(fitting) == 1 else None

    def _is_old(self) -> bool:
        return self._fetched_at is None or self._now() - self._fetched_at >= self._fresh_seconds

    def _may_ask(self) -> bool:
        pause = ASK_AGAIN_SECONDS if self._keys else FIRST_RETRY_SECONDS
        return self._asked_at is None or self._now() - self._asked_at >= pause

    async def _ask(self) -> None:
        before = self._asked_at
        async with self._fetching:
            if self._asked_at != before:
                return  # somebody else has asked meanwhile
            try:
                self._keys = await self._fetch()
                self._fetched_at = self._now()
                self._is_failing = False
            except ConnectionError as problem:
                if not self._is_failing:
                    kept = "those that are known are used on" if self._keys else "nobody can be let in until then"
                    log.warning("the keys of the token issuer can't be fetched, %s: %s", kept, problem)
                self._is_failing = True
            self._asked_at = self._now()
