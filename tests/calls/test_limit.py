from __future__ import annotations

import asyncio

import pytest

from tests.calls.steps import Upstream, a_call, through
from toolcrib.calls.limit_concurrency import LimitConcurrency
from toolcrib.errors import Overloaded, ToolExecutionError


async def test_calls_beyond_the_limit_are_refused_at_once_and_taken_again_afterwards() -> None:
    limit, upstream, gate = LimitConcurrency(lambda: 2), Upstream(), asyncio.Event()

    async def wait() -> None:
        await gate.wait()

    upstream.during = wait
    running = [asyncio.create_task(through(limit, a_call(), upstream)) for _ in range(2)]
    await asyncio.sleep(0)

    with pytest.raises(Overloaded, match="2 calls are already running"):
        await through(limit, a_call(), upstream)
    gate.set()
    await asyncio.gather(*running)
    assert (await through(limit, a_call(), upstream)).text == "done"


async def test_failed_and_cancelled_calls_give_their_place_back() -> None:
    limit = LimitConcurrency(lambda: 1)
    with pytest.raises(ToolExecutionError):
        await through(limit, a_call(), Upstream(ToolExecutionError("no", server="files")))
    hung = Upstream()

    async def hang() -> None:
        await asyncio.get_running_loop().create_future()

    hung.during = hang
    task = asyncio.create_task(through(limit, a_call(), hung))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert (await through(limit, a_call(), Upstream())).text == "done"
