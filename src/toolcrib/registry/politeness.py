"""How often a registry is asked, and when it is asked again; whoever has a better way passes that in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol


class Pace(Protocol):
    """Waits until one more request may be sent."""

    async def acquire(self) -> None: ...


class Retries(Protocol):
    """Decides what follows a failure that may pass."""

    def delay(self, attempt: int, retry_after_seconds: float | None) -> float | None:
        """Seconds until the next attempt, or None to give up; `attempt` counts from 1."""


class EvenPace:
    """Requests at a fixed distance from each other, the first one at once."""

    def __init__(
        self,
        per_second: float,
        *,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._distance = 1 / per_second
        self._now = now
        self._sleep = sleep
        self._next = now()

    async def acquire(self) -> None:
        turn = max(self._next, self._now())
        self._next = turn + self._distance
        if (wait := turn - self._now()) > 0:
            await self._sleep(wait)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Growing waits, varied by chance; what the registry asks for is honoured up to `longest_seconds`."""

    max_retries: int
    first_seconds: float
    multiplier: float
    longest_seconds: float
    jitter: float
    chance: Callable[[], float]

    def delay(self, attempt: int, retry_after_seconds: float | None) -> float | None:
        if attempt > self.max_retries or (retry_after_seconds or 0) > self.longest_seconds:
            return None
        grown = min(self.first_seconds * self.multiplier ** (attempt - 1), self.longest_seconds)
        varied = grown * (1 + self.jitter * (2 * self.chance() - 1))
        return max(varied, retry_after_seconds or 0)
