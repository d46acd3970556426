"""Token buckets of one process."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.limits.rate import RateLimitConfig

# A bucket that has filled up again is as good as a new one, so many idle ones need not be kept.
_MOST_IDLE = 10_000


class MemoryBuckets:
    """Fulfils `RateBuckets`; `now` is in seconds and should not jump back, `time.monotonic` for one."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        # Tokens, when they were counted, and when the bucket will be full.
        self._buckets: dict[str, tuple[float, float, float]] = {}

    async def take(self, key: str, limit: RateLimitConfig) -> float:
        now = self._now()
        tokens, counted_at, _ = self._buckets.get(key, (float(limit.burst_size), now, now))
        passed = max(0.0, now - counted_at)
        tokens = min(float(limit.burst_size), tokens + passed * limit.requests_per_second)
        is_free = tokens >= 1 - 1e-9  # a caller that waited exactly as told must not miss by a rounding
        left = max(0.0, tokens - 1) if is_free else tokens
        self._buckets[key] = (left, now, now + (limit.burst_size - left) / limit.requests_per_second)
        if len(self._buckets) > _MOST_IDLE:
            self._forget_full(now)
        return 0.0 if is_free else (1 - tokens) / limit.requests_per_second

    def _forget_full(self, now: float) -> None:
        self._buckets = {key: bucket for key, bucket in self._buckets.items() if bucket[2] > now}
