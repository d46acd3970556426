"""What a gateway with a thousand tools holds in memory."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.journeys.stdio_gateway import Workshop
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog

SERVERS, TOOLS = 50, 20
# Well below the 100 that were promised: it takes 75, and 81 while coverage is measured.
MOST_MEGABYTES = 88
THINGS = ("issue", "invoice", "photo", "branch", "ticket", "page", "order", "bucket", "message", "reminder")


def resident_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:"))


def visible(workshop: Workshop) -> None:
    """A catalog in which every server was read; none of them can be started."""
    entries = {f"server-{number}": {"command": "never-started", "args": [str(number)]} for number in range(SERVERS)}
    workshop.config.write_text(json.dumps({"discovery": {"servers": entries}}))
    store = SqliteCatalog(Paths.of(workshop.environment).catalog)
    for number, spec in enumerate(load_settings(workshop.config, env=workshop.environment).servers):
        tools = tuple(_tool(number, at) for at in range(TOOLS))
        reading = ServerReading(Identity("legacy", "2025-11-25"), tools)
        store.save_reading(spec.name, spec.launch_key, reading, time.time())
    store.close()


def _tool(server: int, number: int) -> dict[str, object]:
    thing = THINGS[(server + number) % len(THINGS)]
    schema = {"type": "object", "properties": {"id": {"type": "string", "description": f"Which {thing}"}}}
    return {
        "name": f"update_{thing}_{number}",
        "description": f"Change one {thing} of team {server}.",
        "inputSchema": schema,
    }


@pytest.mark.timeout(120)
async def test_a_gateway_with_a_thousand_tools_that_was_searched_a_hundred_times_stays_within_its_bound(
    workshop: Workshop,
) -> None:
    visible(workshop)
    async with workshop.lines() as gateway:
        await gateway.initialize()
        for number in range(100):
            thing = THINGS[number % len(THINGS)]
            found = await gateway.call(number, "search_tools", query=f"change the {thing} of my team")
            assert "results" in found["result"]["content"][0]["text"]
        assert resident_megabytes(gateway.process.pid) < MOST_MEGABYTES
