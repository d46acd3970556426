"""Keeps a progress display up to date while nothing happens but time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolcrib.cli.progress import Progress

TICK_SECONDS = 1.0


@asynccontextmanager
async def ticking(progress: Progress) -> AsyncIterator[None]:
    """While the block runs, show how long the items under way have taken."""
    ticks = asyncio.create_task(_tick(progress))
    try:
        yield
    finally:
        ticks.cancel()
        await asyncio.gather(ticks, return_exceptions=True)


async def _tick(progress: Progress) -> None:
    while True:
        await asyncio.sleep(TICK_SECONDS)
        progress.tick()
