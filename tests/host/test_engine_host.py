from __future__ import annotations

import asyncio
from pathlib import Path

from tests.host.shared_engine import SharedWorkshop
from toolcrib.config.settings import Settings
from toolcrib.connector.engine_main import Claim
from toolcrib.engine.open_gateway import open_engine
from toolcrib.host.engine_host import EngineHost
from toolcrib.host.workspaces import SharedWorkspaces


async def test_an_engine_ends_also_where_a_client_leaves_at_that_moment(shared: SharedWorkshop):
    place = shared.place
    Path(place.folder).mkdir(mode=0o700)
    async with open_engine(Settings(), env=shared.environment) as engine:
        host = EngineHost(engine, Claim(place), SharedWorkspaces(engine, lambda: 60.0), lambda: 60.0, str)
        running = asyncio.create_task(host.run())
        for _ in range(5):  # until it waits for what comes next
            await asyncio.sleep(0)

        host.look_again()
        host.stop()

        async with asyncio.timeout(10):
            await running
