"""How often a server may be asked: a bucket of tokens for each, filled again at a steady rate."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RateLimitConfig:
    """So many requests a second in the long run, and so many at once after a quiet time."""

    requests_per_second: float = 10.0
    burst_size: int = 20
    enabled: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.requests_per_second < float("inf") or self.burst_size < 1:
            raise ValueError("requests_per_second must be above 0 and burst_size at least 1")


class RateBuckets(Protocol):
    """The buckets on some medium, one for each key; a bucket nobody has taken from is full."""

    async def take(self, key: str, limit: RateLimitConfig) -> float:
        """Take a token and return 0, or leave the bucket as it is and return the seconds until it holds one.

        The bucket outlives the limit: another limit for the same key changes how fast it fills, and never refills it.
        """


class RateLimiter:
    """Lets each server be asked at its own rate."""

    def __init__(
        self,
        buckets: RateBuckets,
        default_config: RateLimitConfig | None = None,
        per_server_configs: Mapping[str, RateLimitConfig] | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._buckets = buckets
        self._default = default_config or RateLimitConfig()
        self._per_server = dict(per_server_configs or {})
        self._sleep = sleep

    async def acquire(self, server: str, config: RateLimitConfig | None = None) -> None:
        """Wait until `server` may be asked once more; its own limit wins over `config`, that over the default."""
        limit = self._limit(server, config)
        while limit.enabled and (wait := await self._buckets.take(server, limit)) > 0:
            await self._sleep(wait)

    async def try_acquire(self, server: str, config: RateLimitConfig | None = None) -> float:
        """Take a token without waiting; 0, or the seconds until there is one."""
        limit = self._limit(server, config)
        return await self._buckets.take(server, limit) if limit.enabled else 0.0

    def _limit(self, server: str, config: RateLimitConfig | None) -> RateLimitConfig:
        return self._per_server.get(server) or config or self._default
