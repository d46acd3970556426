"""An engine that is there for peers, as its person meets it: commands, the pages beside its MCP endpoint, listed addresses."""

from __future__ import annotations

import json

from tests.host.peer_homes import ON_LOOPBACK, toolcrib, until_listed, until_pending
from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import MODES, ask, run
from tests.upstream.http_servers import SdkServer, serve

SOON = {"reloadInterval": 0.05}
HIDDEN = {**ON_LOOPBACK, "advertise": False, "mdns": False}


async def test_a_server_at_a_listed_address_waits_in_approvals_and_is_used_once_a_person_agrees(
    shared: SharedWorkshop,
) -> None:
    async with serve(SdkServer().streamable_app()) as url:
        place = url.removeprefix("http://")
        port = int(place.rpartition(":")[2])
        shared.configure({}, peers={**HIDDEN, "scan": [f"127.0.0.1:{port}-{port}"]}, **SOON)
        async with shared.client(MODES[0]) as agent:
            proposal = await until_pending(shared, "scan")
            assert proposal["launch"]["url"] == f"{url}/mcp"
            assert (await ask(agent, "list_mcp_servers"))["servers"] == []

            await toolcrib(shared, "approvals", "approve", proposal["id"], "-y", "--reason", "ours")
            await until_listed(agent, proposal["server"])

            assert json.loads(await run(agent, proposal["server"], "echo", text="found"))["result"] == {"text": "found"}


async def test_an_address_that_is_added_to_the_list_is_looked_at_while_the_engine_runs(shared: SharedWorkshop) -> None:
    async with serve(SdkServer().streamable_app()) as url:
        shared.configure({}, peers=HIDDEN, **SOON)
        async with shared.client(MODES[0]) as agent:
            assert (await ask(agent, "list_mcp_servers"))["servers"] == []

            shared.configure({}, peers={**HIDDEN, "scan": [url.removeprefix("http://")]}, **SOON)

            assert (await until_pending(shared, "scan"))["launch"]["url"] == f"{url}/mcp"
