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
# An issuer that hangs holds up nobody whose key is known: so long such a token waits for fresh keys.
PATIENCE_SECONDS = 2.0


class Key(Protocol):
    """A public key, as far as it matters which one it is."""

    @property
    def id(self) -> str | None: ...


class KeysUnavailable(Exception):
    """It can't be said whether a token is good: the keys of its issuer could not be fetched."""


K = TypeVar("K", bound=Key)


class KeySet(Generic[K]):
    """Finds the key that signed a token; one fetch at a time, whoever asks."""

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
        self._asking: asyncio.Task[None] | None = None
        self._patience_ends = 0.0

    async def find(self, id: str | None) -> K | None:
        """The key of this id, or without one the only key that there is; raises KeysUnavailable."""
        if self._is_old():
            await self._ask(is_patient=self._known(id) is None)
        found = self._known(id)
        if found is None:
            await self._ask(is_patient=True)
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

    async def _ask(self, *, is_patient: bool) -> None:
        """Wait for the answer of the issuer, to whoever has asked; asked again it is only if it may be."""
        now = asyncio.get_running_loop().time()
        if self._asking is None and self._may_ask():
            self._asking = asyncio.ensure_future(self._fetched())
            self._patience_ends = now + PATIENCE_SECONDS
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=None if is_patient else max(0.0, self._patience_ends - now))

    async def _fetched(self) -> None:
        try:
            self._keys = await self._fetch()
            self._fetched_at = self._now()
            self._is_failing = False
        except Exception as problem:  # whatever it is, the keys that are known are as good as before
            if not self._is_failing:
                kept = "those that are known stay in use" if self._keys else "nobody can be let in until then"
                is_debug = log.isEnabledFor(logging.DEBUG)
                log.warning("the keys of the token issuer can't be fetched, %s: %s", kept, problem, exc_info=is_debug)
            self._is_failing = True
        finally:
            self._asked_at = self._now()
            self._asking = None
