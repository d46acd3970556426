from __future__ import annotations

import asyncio

import pytest

from bench.torture import SERVERS, Ordeal, Torture
from tests.host.shared_engine import SharedWorkshop


@pytest.mark.parametrize("draw", [1, 2])
async def test_each_request_is_answered_once_though_clients_servers_and_the_engine_are_killed(
    shared: SharedWorkshop, draw: int
):
    ordeal = Ordeal(calls=400, clients=6, client_kills=5, crash_chance=0.01, draw=draw)
    torture = Torture(shared, ordeal)
    async with asyncio.timeout(40):
        before, after = await torture.run()

    tally = torture.tally
    assert not tally.wrong, shared.log.read_text()
    assert not tally.told_twice
    assert tally.results + tally.errors.total() + tally.abandoned == ordeal.calls + 2 * len(SERVERS)
    assert shared.log.read_text().count("the engine runs") == 2, "the first one was killed"
    assert after == before, "the engine has let go of every pipe and socket"
