"""The pages about peers on the local HTTP face."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest
from mcp.server import Server

from tests.fakes import FakeServer, FakeServers, spec, text, tool
from tests.peers.cards import GARAGE, KITCHEN, NOW, STRANGER, card_of, definition, known_peer
from toolcrib import Settings, open_gateway
from toolcrib.config.profiles import Profile
from toolcrib.errors import StoreUnavailable
from toolcrib.model.peer import AgentCard, KnownPeer
from toolcrib.peers.card import read_card, signed_card
from toolcrib.peers.store import PeerStore
from toolcrib.server.http import build_app
from toolcrib.server.peer_pages import OwnPeer, PeerPages
from toolcrib.storage.memory_peers import MemoryPeers

TOKEN = "right"
ADD = definition("notes__add", text={"type": "string"})
TRUSTED = known_peer(KITCHEN, "kitchen", [ADD], trust="trusted")
WAITING = known_peer(GARAGE, "garage", now=NOW - 30)
GONE = replace(TRUSTED, seen_at=NOW - 400)
AWAY = replace(TRUSTED, away_since=NOW - 5)


@dataclass(frozen=True)
class Signed:
    card: AgentCard
    body: bytes


class Ourselves:
    """Who we are to peers: a real key, and a card that it signed."""

    peer_id = STRANGER.peer_id
    protocols = ("mcp",)
    transports = ("https",)

    def addresses(self) -> Sequence[str]:
        return ["10.0.0.3:8666"]

    def card(self) -> Signed:
        card = card_of(STRANGER, "study", [ADD])
        return Signed(card, signed_card(card, STRANGER))


def written_down(*peers: KnownPeer) -> PeerStore:
    store = MemoryPeers()
    store.save_peers(peers)
    for peer in peers:
        store.decide(peer.peer_id, peer.trust, peer.pins)
    return store


@asynccontextmanager
async def pages(
    *peers: KnownPeer,
    servers: Sequence[FakeServer] = (),
    own: OwnPeer | None = None,
    store: PeerStore | None = None,
    **settings: Any,
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the pages that holds the token."""
    configured = Settings(
        servers=tuple(spec(one.name) for one in servers), **{"peers_enabled": True, "peers_mdns": False, **settings}
    )
    async with open_gateway(settings=configured, opener=FakeServers(*servers)) as gateway:
        kept = store or written_down(*peers)
        shown = PeerPages(gateway, lambda: nullcontext(kept), lambda: own, now=lambda: NOW)
        app = build_app(
            Server("pages"), lambda: gateway.settings, host="127.0.0.1", token=TOKEN, more_routes=shown.routes()
        )
        transport = httpx2.ASGITransport(app)
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            yield client


async def test_peers_are_listed_with_whether_they_are_there() -> None:
    blocked = replace(known_peer(STRANGER, "stranger"), trust="blocked")
    async with pages(TRUSTED, WAITING, blocked) as client:
        assert (await client.get("/peers")).json() == [
            {"id": GARAGE.peer_id, "connected": True, "foundAt": NOW - 30, "lastSeen": NOW - 30},
            {"id": KITCHEN.peer_id, "connected": True, "foundAt": NOW, "lastSeen": NOW},
        ]


@pytest.mark.parametrize("peer", [GONE, AWAY])
async def test_a_peer_that_does_not_answer_is_not_connected(peer: KnownPeer) -> None:
    async with pages(peer) as client:
        assert [one["connected"] for one in (await client.get("/peers")).json()] == [False]


async def test_cards_are_shown_by_the_ids_of_their_peers_with_whole_schemas() -> None:
    waiting = known_peer(GARAGE, "garage", [ADD])
    async with pages(TRUSTED, waiting, known_peer(STRANGER, "silent", card=None)) as client:
        cards = (await client.get("/p2p/cards")).json()

    assert sorted(cards) == sorted([KITCHEN.peer_id, GARAGE.peer_id])
    card = cards[KITCHEN.peer_id]
    assert cards[GARAGE.peer_id]["tools"] == card["tools"]
    assert (card["name"], card["peerId"], card["capabilities"]) == ("kitchen", KITCHEN.peer_id, ["mcp", "p2p"])
    assert card["tools"] == [{"name": "notes__add", "description": "Does something.", "parameters": ADD["inputSchema"]}]


@pytest.mark.parametrize("path", ["/agent/card", "/.well-known/agent-card.json"])
async def test_our_own_card_is_shown_signed(path: str) -> None:
    async with pages(own=Ourselves()) as client:
        answer = await client.get(path)

    assert answer.headers["content-type"] == "application/json"
    card = read_card(answer.content, now=NOW, certificate_hash=None)
    assert (card.name, card.peer_id) == ("study", STRANGER.peer_id)


async def test_the_info_page_tells_who_we_are_and_where() -> None:
    async with pages(own=Ourselves()) as client:
        assert (await client.get("/p2p/info")).json() == {
            "peerId": STRANGER.peer_id,
            "name": "study",
            "addresses": ["10.0.0.3:8666"],
            "protocols": ["mcp"],
            "transports": ["https"],
        }


async def test_a_gateway_that_speaks_to_no_peer_itself_says_so() -> None:
    async with pages(TRUSTED) as client:
        for path in ("/p2p/info", "/agent/card"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["error"]) == (404, "PEERS_NOT_HERE")


async def test_without_peers_every_page_says_how_to_switch_them_on() -> None:
    async with pages(TRUSTED, own=Ourselves(), peers_enabled=False) as client:
        for path in ("/peers", "/p2p/cards", "/p2p/info", "/agent/card", "/.well-known/agent-card.json"):
            answer = await client.get(path)
            assert (answer.status_code, "peers.enabled" in answer.json()["message"]) == (404, True)
        assert (await client.post("/p2p/tool", json={})).status_code == 404


def request(peer: KnownPeer, name: str = "notes__add") -> dict[str, Any]:
    return {"peer_id": peer.peer_id, "tool_name": name, "args": {"text": "milk"}}


async def test_a_tool_of_a_trusted_peer_is_run_by_the_peers_id() -> None:
    kitchen = FakeServer("peer-kitchen", [tool("notes__add")], tools={"notes__add": lambda _: text('{"id":7}')})
    async with pages(TRUSTED, servers=[kitchen]) as client:
        answer = await client.post("/p2p/tool", json=request(TRUSTED))

    assert (answer.status_code, answer.json()) == (200, {"success": True, "result": {"id": 7}})
    assert kitchen.calls == [("notes__add", {"text": "milk"})]


async def test_a_profile_of_all_clients_holds_for_the_page_too() -> None:
    kitchen = FakeServer("peer-kitchen", [tool("notes__add")])
    profiles = {"work": Profile("work", servers=("github",))}
    async with pages(TRUSTED, servers=[kitchen], profiles=profiles, profile="work") as client:
        answer = (await client.post("/p2p/tool", json=request(TRUSTED))).json()

    assert (answer["success"], answer["error"]["code"]) == (False, "SERVER_NOT_FOUND")
    assert kitchen.calls == []


async def test_a_tool_that_the_peer_has_not_is_an_error_with_its_code() -> None:
    kitchen = FakeServer("peer-kitchen", [tool("notes__add")])
    async with pages(TRUSTED, servers=[kitchen]) as client:
        answer = (await client.post("/p2p/tool", json=request(TRUSTED, "notes__drop"))).json()

    assert (answer["success"], answer["error"]["code"]) == (False, "TOOL_NOT_FOUND")


async def test_a_peer_that_nobody_trusts_runs_nothing() -> None:
    garage = FakeServer("peer-garage", [tool("notes__add")])
    async with pages(WAITING, servers=[garage]) as client:
        answer = await client.post("/p2p/tool", json=request(WAITING))

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "PEER_NOT_TRUSTED")
    assert garage.calls == []


async def test_a_peer_that_is_not_known_is_not_found_whatever_server_has_its_name() -> None:
    async with pages(WAITING, servers=[FakeServer("peer-kitchen", [tool("notes__add")])]) as client:
        answer = await client.post("/p2p/tool", json=request(TRUSTED))

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "PEER_NOT_FOUND")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"peer_id":1,"tool_name":"a"}', b"[" * 5000])
async def test_an_odd_request_is_refused(body: bytes) -> None:
    async with pages(TRUSTED) as client:
        answer = await client.post("/p2p/tool", content=body)
        assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR")


async def test_a_request_that_is_too_large_is_refused() -> None:
    async with pages(TRUSTED, max_http_body_bytes=100_000) as client:
        answer = await client.post("/p2p/tool", content=json.dumps({"peer_id": "x" * 200_000}))
        assert answer.status_code == 413


async def test_what_is_known_of_peers_may_be_out_of_reach_for_a_moment() -> None:
    class Full(MemoryPeers):
        def peers(self) -> list[KnownPeer]:
            raise StoreUnavailable("the disk is full")

    async with pages(store=Full()) as client:
        answer = await client.get("/peers")
        assert (answer.status_code, answer.json()["error"]) == (503, "STORE_UNAVAILABLE")


async def test_a_path_that_is_the_mcp_endpoint_stays_the_mcp_endpoint() -> None:
    async with pages(TRUSTED, http_path="/peers") as client:
        with pytest.raises(RuntimeError, match="run"):  # the SDK's endpoint, which was not started here
            await client.post("/peers", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
