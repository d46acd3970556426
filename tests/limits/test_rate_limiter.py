from __future__ import annotations

import pytest

from tests.fakes import Clock
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.storage.memory_buckets import MemoryBuckets


class Waiting:
    """A limiter whose waiting moves its clock."""

    def __init__(self, default: RateLimitConfig | None = None, **per_server: RateLimitConfig) -> None:
        self.clock = Clock()
        self.waits: list[float] = []
        self.limiter = RateLimiter(MemoryBuckets(self.clock), default, per_server, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(seconds)


def test_by_default_it_is_ten_a_second_and_twenty_at_once() -> None:
    assert RateLimitConfig() == RateLimitConfig(requests_per_second=10.0, burst_size=20, enabled=True)


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (float("inf"), 1), (float("nan"), 1), (1, 0)])
def test_a_limit_that_means_nothing_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        RateLimitConfig(rate, burst)


async def test_after_the_burst_each_waits_for_its_token() -> None:
    us = Waiting(RateLimitConfig(2.0, 2))
    for _ in range(4):
        await us.limiter.acquire("a")

    assert us.waits == pytest.approx([0.5, 0.5])


async def test_a_server_has_its_own_limit_over_that_of_a_call_over_the_default() -> None:
    us = Waiting(RateLimitConfig(1.0, 1), slow=RateLimitConfig(0.1, 1))
    for server, config in (("slow", RateLimitConfig(100.0, 100)), ("given", RateLimitConfig(4.0, 1)), ("plain", None)):
        await us.limiter.acquire(server, config)
        await us.limiter.acquire(server, config)

    assert us.waits == pytest.approx([10, 0.25, 1])


async def test_the_bucket_is_made_once_however_often_a_limit_is_given() -> None:
    us = Waiting()
    for _ in range(3):
        await us.limiter.acquire("a", RateLimitConfig(1.0, 1))

    assert us.waits == pytest.approx([1, 1])


async def test_a_limit_that_is_off_holds_nobody_up() -> None:
    us = Waiting()
    for _ in range(1000):
        await us.limiter.acquire("a", RateLimitConfig(enabled=False))
        assert await us.limiter.try_acquire("a", RateLimitConfig(enabled=False)) == 0

    assert us.waits == []


async def test_one_who_will_not_wait_is_told_how_long_it_would_be() -> None:
    us = Waiting(RateLimitConfig(2.0, 1))

    assert [await us.limiter.try_acquire("a") for _ in range(2)] == [0, 0.5]
    assert us.waits == []


async def test_idle_buckets_are_forgotten_and_busy_ones_are_not() -> None:
    us = Waiting(RateLimitConfig(1.0, 1))
    for number in range(10_000):
        await us.limiter.try_acquire(f"s{number}")
    us.clock.advance(0.9)
    await us.limiter.try_acquire("busy")
    us.clock.advance(0.2)
    await us.limiter.try_acquire("one more")

    assert len(us.limiter._buckets._buckets) < 5
    assert await us.limiter.try_acquire("busy") == pytest.approx(0.8)
