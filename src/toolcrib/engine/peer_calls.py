"""How often a peer may call us, and how many of its calls run at once, whichever way it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from toolcrib.config.settings import Settings
from toolcrib.limits.rate import RateLimitConfig, RateLimiter


class PeerCalls:
    """One quota for each peer. Belongs to the event loop."""

    def __init__(self, limiter: RateLimiter, settings: Callable[[], Settings]) -> None:
        self._limiter = limiter
        self._settings = settings
        self._running: Counter[str] = Counter()

    async def enter(self, peer_id: str) -> float:
        """0 where a call may run now, which has to `leave` when it ends; else how many seconds to wait."""
        settings = self._settings()
        if self._running[peer_id] >= settings.peers_max_calls:
            return 1.0
        self._running[peer_id] += 1
        wait = await self._limiter.try_acquire(f"peer:{peer_id}", _rate(settings))
        if wait:
            self.leave(peer_id)
        return wait

    def leave(self, peer_id: str) -> None:
        self._running[peer_id] -= 1
        if self._running[peer_id] <= 0:
            del self._running[peer_id]


def _rate(settings: Settings) -> RateLimitConfig:
    return RateLimitConfig(settings.peers_call_rate, max(1, round(2 * settings.peers_call_rate)))
