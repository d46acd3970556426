"""What a server says faster than anybody could want to hear it: some of it is left out, and nobody else waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

BURST = 200
PER_SECOND = 50.0
# Of how many things the latest news may wait at once.
MOST_WAITING = 1_000

T = TypeVar("T")


class Pace:
    """So many at once, and after that so many a second; what comes faster has no turn."""

    def __init__(
        self, burst: int = BURST, per_second: float = PER_SECOND, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst = burst
        self._per_second = per_second
        self._now = now
        self._left = float(burst)
        self._looked_at = now()

    def has_turn(self) -> bool:
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._looked_at) * self._per_second)
        self._looked_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class LatestOnly(Generic[T]):
    """Hands news on at a pace; of those about one thing that come faster, the latest one is handed on a moment later."""

    def __init__(self, hear: Callable[[T], None]) -> None:
        self._hear = hear
        self._pace = Pace()
        self._waiting: dict[Hashable, T] = {}
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, about: Hashable, news: T) -> None:
        if not self._waiting and self._pace.has_turn():
            self._hear(news)
        elif about in self._waiting or len(self._waiting) < MOST_WAITING:
            self._waiting[about] = news
            if self._timer is None:
                self._later()

    def finish(self) -> None:
        """Hand on what waits, now."""
        self.stop()
        waiting, self._waiting = self._waiting, {}
        for news in waiting.values():
            self._hear(news)

    def stop(self) -> None:
        """Nobody hears what waits any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(1 / PER_SECOND, self._next)

    def _next(self) -> None:
        self._timer = None
        about = next(iter(self._waiting), None)
        if about is not None and self._pace.has_turn():
            self._hear(self._waiting.pop(about))
        if self._waiting:
            self._later()
