"""An engine that is there for peers, as its person meets it: commands, the pages beside its MCP endpoint, listed addresses."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from tests.host.engine_over_http import EngineOverHttp
from tests.host.peer_homes import ON_LOOPBACK, toolcrib, until_listed, until_peer_is, until_pending
from tests.host.shared_engine import SharedWorkshop
from tests.host.test_foreground_engine import foreground
from tests.journeys.http_gateway import HttpGateway
from tests.journeys.stdio_gateway import MODES, ask, eventually, run
from tests.upstream.http_servers import SdkServer, serve
from toolcrib.peers.card import read_card
from toolcrib.peers.identity import Identity

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


class Pages:
    """The pages beside the MCP endpoint, as a program of the person asks for them."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def get(self, path: str) -> httpx2.Response:
        return await self._client.get(path)

    async def post(self, path: str, body: Any) -> Any:
        return (await self._client.post(path, json=body)).json()

    async def once_there(self, path: str) -> Any:
        """A page, once the process is there for peers."""
        for _ in range(100):
            if (answer := await self.get(path)).status_code == httpx2.codes.OK:
                return answer.json()
            await asyncio.sleep(0.1)
        raise AssertionError(f"{path}: {answer.text}")

    @classmethod
    @asynccontextmanager
    async def of(cls, gateway: HttpGateway) -> AsyncIterator[Pages]:
        headers = {"authorization": f"Bearer {gateway.token}"}
        url = gateway.url.removesuffix("/mcp")
        async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=20) as client:
            yield cls(client)


@asynccontextmanager
async def served_by_the_engine(shared: SharedWorkshop) -> AsyncIterator[Pages]:
    engine = EngineOverHttp(shared)
    async with shared.lines() as client:
        await client.initialize()
        await eventually(lambda: engine.url)
        async with Pages.of(engine) as pages:
            yield pages


@asynccontextmanager
async def served_in_the_foreground(shared: SharedWorkshop) -> AsyncIterator[Pages]:
    async with foreground(shared) as gateway, Pages.of(gateway) as pages:
        yield pages


@asynccontextmanager
async def served_alone(shared: SharedWorkshop) -> AsyncIterator[Pages]:
    shared.environment["TOOLCRIB_ENGINE_ENABLED"] = "false"
    async with foreground(shared) as gateway, Pages.of(gateway) as pages:
        yield pages


@pytest.mark.parametrize("served", [served_by_the_engine, served_in_the_foreground, served_alone])
async def test_the_process_that_is_there_for_peers_tells_who_we_are_beside_its_mcp_endpoint(
    shared: SharedWorkshop, served: Any
) -> None:
    shared.configure(
        {"desk": shared.scripted("desk")},
        peers={**ON_LOOPBACK, "mdns": False, "name": "kitchen", "expose": ["desk:echo"]},
        engine={"http": served is served_by_the_engine},
        http={"port": 0},
    )
    async with served(shared) as pages:
        info = await pages.once_there("/p2p/info")
        peer_id = Identity.kept_at(shared.home / "peer.key").peer_id
        (address,) = info["addresses"]
        assert info == {
            "peerId": peer_id,
            "name": "kitchen",
            "addresses": [address],
            "protocols": ["mcp"],
            "transports": ["https"],
        }
        for path in ("/agent/card", "/.well-known/agent-card.json"):
            card = read_card((await pages.get(path)).content, now=time.time(), certificate_hash=None)
            assert (card.peer_id, f"127.0.0.1:{card.port}") == (peer_id, address)

        ourselves = (await toolcrib(shared, "peers", "list"))["self"]
        assert (ourselves["advertised"], ourselves["addresses"]) == (True, [address])


async def test_without_peers_no_card_is_made_and_nothing_listens(shared: SharedWorkshop) -> None:
    off = {**ON_LOOPBACK, "enabled": False, "expose": ["desk"]}
    shared.configure({"desk": shared.scripted("desk")}, peers=off, engine={"http": True}, http={"port": 0})
    async with served_by_the_engine(shared) as pages, shared.client(MODES[0]) as agent:
        assert await run(agent, "desk", "echo", text="x") == "x"
        for path in ("/agent/card", "/p2p/info", "/p2p/cards", "/peers"):
            answer = await pages.get(path)
            assert (answer.status_code, answer.json()["error"]) == (404, "PEERS_OFF")

        assert list(shared.home.glob("peer*")) == []
        assert (await toolcrib(shared, "peers", "list"))["self"]["addresses"] == []


async def test_serving_http_in_the_foreground_meets_peers_and_runs_their_tools_by_the_pages(
    homes: dict[str, SharedWorkshop],
) -> None:
    kitchen, study = homes["kitchen"], homes["study"]
    desk = kitchen.scripted("desk")
    quiet = {**ON_LOOPBACK, "mdns": False}
    kitchen.configure({"desk": desk}, peers={**quiet, "name": "kitchen", "expose": ["desk:echo"]}, http={"port": 0})

    async with served_in_the_foreground(kitchen) as cooks_pages:
        written = (await cooks_pages.once_there("/p2p/info"))["addresses"]
        study.configure({}, peers={**quiet, "name": "study", "static": written}, http={"port": 0})
        async with served_in_the_foreground(study) as pages:
            await _trust_and_run(kitchen, study, pages)


async def _trust_and_run(kitchen: SharedWorkshop, study: SharedWorkshop, pages: Pages) -> None:
    for shop, other in ((kitchen, "study"), (study, "kitchen")):
        await until_peer_is(shop, other, "waiting")
        await toolcrib(shop, "peers", "trust", other, "-y")
    (peer,) = await pages.once_there("/peers")
    assert peer["connected"]
    cards = (await pages.get("/p2p/cards")).json()
    assert [tool["name"] for tool in cards[peer["id"]]["tools"]] == ["desk__echo"]

    asked = {"peer_id": peer["id"], "tool_name": "desk__echo", "args": {"text": "by its id"}}
    answers = [await pages.post("/p2p/tool", asked)]
    while not answers[-1]["success"] and len(answers) < 40:  # it takes a moment until both have heard of the trust
        await asyncio.sleep(0.25)
        answers.append(await pages.post("/p2p/tool", asked))
    assert answers[-1] == {"success": True, "result": "by its id"}
