"""Requests besides calls take turns at the rate of their server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.calls.steps import Upstream, through
from tests.calls.steps import a_call as any_call
from tests.fakes import INSTANT, spec, tool
from toolcrib.calls.limit_rate import LimitRate
from toolcrib.calls.pace_requests import MOST_WAITING, WAIT_SECONDS, PaceRequests
from toolcrib.errors import RateLimited
from toolcrib.limits.rate import RateLimitConfig, RateLimiter
from toolcrib.model.call import Target, ToolCall
from toolcrib.model.tool import Tool
from toolcrib.storage.memory_buckets import MemoryBuckets

SLOW = RateLimitConfig(1.0, 1)


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


def a_call() -> ToolCall:
    return any_call("files", target=Target(Tool.from_mcp("files", tool("build")), "build", spec("files")))


def limiter() -> RateLimiter:
    return RateLimiter(MemoryBuckets(asyncio.get_running_loop().time))


async def test_a_task_that_is_looked_at_often_waits_and_is_not_refused() -> None:
    shared, upstream = limiter(), Upstream()
    pace, calls = PaceRequests(shared, lambda _: SLOW), LimitRate(shared, lambda _: SLOW)
    began = asyncio.get_running_loop().time()
    for _ in range(100):
        await through(pace, a_call(), upstream)
    # Looks are counted apart, so a call has its place.
    await through(calls, a_call(), upstream)

    assert len(upstream.calls) == 101
    assert asyncio.get_running_loop().time() - began == pytest.approx(99, abs=1)


async def test_those_who_wait_come_in_their_order_and_nobody_waits_for_ever() -> None:
    pace, upstream, ended = PaceRequests(limiter(), lambda _: SLOW), Upstream(), list[int]()

    async def look(number: int) -> None:
        await through(pace, a_call(), upstream)
        ended.append(number)

    outcomes = await asyncio.gather(*(look(number) for number in range(MOST_WAITING)), return_exceptions=True)

    # On a slow machine the last of them may give up in the moment of their turn, which then goes to one behind them.
    assert ended == sorted(ended)
    assert ended[:25] == list(range(25))
    assert len(ended) == pytest.approx(WAIT_SECONDS, abs=2)
    assert [number for number, one in enumerate(outcomes) if one is None] == ended
    assert sum(isinstance(one, RateLimited) for one in outcomes) == MOST_WAITING - len(ended)


async def test_more_than_many_do_not_even_wait() -> None:
    pace, upstream = PaceRequests(limiter(), lambda _: SLOW), Upstream()
    asked = [asyncio.ensure_future(through(pace, a_call(), upstream)) for _ in range(MOST_WAITING + 10)]
    await asyncio.sleep(0)

    # The first had its turn at once.
    assert [isinstance(one.exception(), RateLimited) for one in asked if one.done()] == [False, *[True] * 9]
    for one in asked:
        one.cancel()
    await asyncio.gather(*asked, return_exceptions=True)


async def test_without_a_rate_nobody_waits() -> None:
    pace, upstream = PaceRequests(limiter(), lambda _: None), Upstream()
    await asyncio.gather(*(through(pace, a_call(), upstream) for _ in range(1_000)))

    assert len(upstream.calls) == 1_000
