"""Two machines, each with a home and a shared engine in the background: they find each other and run each other's tools."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.host.peer_homes import ON_LOOPBACK, toolcrib, until_listed, until_peer_is
from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import MODES, ask, eventually, run


@pytest.mark.usefixtures("multicast")
async def test_two_machines_find_each_other_exchange_cards_and_run_a_tool(homes: dict[str, SharedWorkshop]) -> None:
    kitchen, study = homes["kitchen"], homes["study"]
    desk = kitchen.scripted("desk")
    kitchen.configure({"desk": desk}, peers={**ON_LOOPBACK, "name": "kitchen", "expose": ["desk:echo"]})
    study.configure({}, peers={**ON_LOOPBACK, "name": "study"})

    async with kitchen.client(MODES[0]) as cook, study.client(MODES[1]) as reader:
        assert await run(cook, "desk", "echo", text="here") == "here"
        for shop, other in ((kitchen, "study"), (study, "kitchen")):
            await until_peer_is(shop, other, "waiting")
            await toolcrib(shop, "peers", "trust", other, "-y", "--reason", "ours")
            await until_peer_is(shop, other, "trusted")

        await until_listed(reader, "peer-kitchen")
        found = await ask(reader, "search_tools", query="echo text", server="peer-kitchen")
        assert [hit["tool"] for hit in found["results"]] == ["desk__echo"]
        assert await run(reader, "peer-kitchen", "desk__echo", text="from the study") == "from the study"

    calls = [json.loads(line) for line in (kitchen.home / "audit.jsonl").read_text().splitlines()]
    assert [(one["caller"], one["face"]) for one in calls if one["tool"] == "echo"][-1] == ("peer-study", "peer")


async def test_the_engine_stays_while_it_is_advertised(homes: dict[str, SharedWorkshop]) -> None:
    kitchen = homes["kitchen"]
    kitchen.configure({}, peers={**ON_LOOPBACK, "mdns": False}, engine={"idleStop": 0.2})

    async with kitchen.lines() as client:
        await client.initialize()
        await eventually(lambda: "peers are listened for at" in kitchen.log.read_text())
    engine = kitchen.engine()
    await asyncio.sleep(1)

    assert kitchen.engine() == engine
