"""What every store of token buckets promises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import Clock
from toolcrib.limits.rate import RateBuckets, RateLimitConfig
from toolcrib.storage.memory_buckets import MemoryBuckets

MakeBuckets = Callable[[Callable[[], float]], RateBuckets]
STORES = [pytest.param(MemoryBuckets, id="memory")]
TWO_A_SECOND = RateLimitConfig(2.0, 3)


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest) -> MakeBuckets:
    return request.param


async def test_a_new_bucket_is_full(make: MakeBuckets) -> None:
    buckets = make(Clock())

    assert [await buckets.take("a", TWO_A_SECOND) for _ in range(4)] == [0, 0, 0, 0.5]


async def test_a_bucket_fills_continuously(make: MakeBuckets) -> None:
    clock = Clock()
    buckets = make(clock)
    for _ in range(3):
        await buckets.take("a", TWO_A_SECOND)

    clock.advance(0.2)
    assert await buckets.take("a", TWO_A_SECOND) == pytest.approx(0.3)
    clock.advance(0.3)
    assert await buckets.take("a", TWO_A_SECOND) == 0


async def test_a_bucket_holds_no_more_than_its_burst(make: MakeBuckets) -> None:
    clock = Clock()
    buckets = make(clock)
    await buckets.take("a", TWO_A_SECOND)
    clock.advance(3600)

    assert [await buckets.take("a", TWO_A_SECOND) for _ in range(4)] == [0, 0, 0, 0.5]


async def test_each_key_has_a_bucket_of_its_own(make: MakeBuckets) -> None:
    buckets = make(Clock())
    for _ in range(3):
        await buckets.take("a", TWO_A_SECOND)

    assert await buckets.take("b", TWO_A_SECOND) == 0


async def test_another_limit_changes_the_pace_and_does_not_fill_the_bucket(make: MakeBuckets) -> None:
    clock = Clock()
    buckets = make(clock)
    for _ in range(3):
        await buckets.take("a", TWO_A_SECOND)

    assert await buckets.take("a", RateLimitConfig(10.0, 100)) == pytest.approx(0.1)
    clock.advance(0.1)
    assert await buckets.take("a", RateLimitConfig(10.0, 100)) == 0


async def test_who_waits_as_long_as_told_is_served(make: MakeBuckets) -> None:
    clock = Clock()
    buckets = make(clock)
    odd = RateLimitConfig(3.0, 1)
    await buckets.take("a", odd)
    for _ in range(100):
        clock.advance(await buckets.take("a", odd))
        assert await buckets.take("a", odd) == 0


async def test_a_clock_set_back_takes_nothing_away(make: MakeBuckets) -> None:
    clock = Clock()
    buckets = make(clock)
    await buckets.take("a", TWO_A_SECOND)
    clock.advance(-1000)

    assert await buckets.take("a", TWO_A_SECOND) == 0


@pytest.mark.parametrize("store", STORES)
@given(
    rate=st.floats(0.1, 50),
    burst=st.integers(1, 20),
    steps=st.lists(st.floats(0, 2), max_size=60),
)
def test_no_stretch_of_time_sees_more_than_the_burst_and_the_rate(
    store: MakeBuckets, rate: float, burst: int, steps: list[float]
) -> None:
    async def play() -> None:
        clock = Clock(0.0)
        buckets, limit, taken = store(clock), RateLimitConfig(rate, burst), []
        for step in steps:
            clock.advance(step)
            if await buckets.take("a", limit) == 0:
                taken.append(clock())
        for first in range(len(taken)):
            for last in range(first, len(taken)):
                assert last - first + 1 <= burst + rate * (taken[last] - taken[first]) + 1e-6

    asyncio.run(play())
