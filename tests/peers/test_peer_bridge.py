"""What peers may ask over libp2p, and a gateway that asks; the lines go from one to the other in memory."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes import FakeServer, FakeServers, spec, text, tool
from tests.peers.cards import GARAGE, KITCHEN, STRANGER, card_of, known_peer
from toolcrib import Gateway, Settings, open_gateway
from toolcrib.engine.peer_bridge import CARDS_OF_ONE, PeerBridge
from toolcrib.engine.peer_calls import PeerCalls
from toolcrib.errors import PeerRefused, RateLimited, ServerConnectionError
from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL, TOOL_PROTOCOL
from toolcrib.limits.rate import RateLimiter
from toolcrib.model.peer import AgentCard, KnownPeer, peer_url
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.peers.card import read_card, signed_card
from toolcrib.peers.exposure import exposed
from toolcrib.storage.memory_buckets import MemoryBuckets
from toolcrib.upstream.libp2p_link import Libp2pLink
from toolcrib.upstream.link import NotificationHandler

ASKER = known_peer(GARAGE, "garage", trust="trusted")


class Bridged:
    """A gateway that offers tools of `notes` to trusted peers, and the cards that were left at it."""

    def __init__(self, gateway: Gateway, call_rate: float) -> None:
        self.peers: dict[str, KnownPeer] = {GARAGE.peer_id: ASKER}
        self.cards: dict[str, AgentCard] = {}
        self.settings = replace(Settings(), peers_call_rate=call_rate)
        limiter = RateLimiter(MemoryBuckets(time.monotonic))
        view = gateway._workspace.view
        self.answer = PeerBridge(
            gateway,
            exposed=lambda: exposed((one for name in view.specs for one in view.tools(name).values()), ["notes"]),
            card=lambda: signed_card(card_of(KITCHEN, now=time.time()), KITCHEN),
            peer=self.peers.get,
            take_card=self.take_card,
            limiter=limiter,
            calls=PeerCalls(limiter, lambda: self.settings),
        )

    async def take_card(self, peer_id: str, body: bytes) -> None:
        card = read_card(body, now=time.time(), certificate_hash=None)
        if card.peer_id != peer_id:
            raise PeerRefused("the card is somebody else's", reason="signature")
        self.cards[peer_id] = card

    async def ask(self, question: Any, protocol: str = MCP_PROTOCOL, peer_id: str = GARAGE.peer_id) -> Any:
        body = question if isinstance(question, bytes) else json.dumps(question).encode()
        line = await self.answer(peer_id, protocol, body)
        assert b"\n" not in line
        return json.loads(line)


@asynccontextmanager
async def bridged(call_rate: float = 1000) -> AsyncIterator[tuple[Bridged, FakeServer]]:
    notes = FakeServer("notes", [tool("add"), tool("slow")], tools={"add": lambda _: text("line one\nline two")})
    private = FakeServer("private", [tool("read")])
    settings = Settings(servers=(spec("notes"), spec("private")))
    async with asyncio.timeout(30), open_gateway(settings=settings, opener=FakeServers(notes, private)) as gateway:
        for name in ("notes", "private"):
            await gateway.list_tools(name)
        yield Bridged(gateway, call_rate), notes


def question(method: str, **params: Any) -> dict[str, Any]:
    return {"id": "q1", "method": method, "params": params}


async def test_a_bridge_answers_its_four_methods() -> None:
    async with bridged() as (bridge, notes):
        listed = await bridge.ask(question("tools/list"))
        called = await bridge.ask(question("tools/call", name="notes__add", arguments={"text": "milk"}))
        resources = await bridge.ask(question("resources/list"))
        read = await bridge.ask(question("resources/read", uri="agent://card"))

    assert {one["name"] for one in listed["result"]["tools"]} == {"notes__add", "notes__slow"}
    assert all("inputSchema" in one for one in listed["result"]["tools"])
    assert called == {"id": "q1", "result": text("line one\nline two")}
    assert notes.calls == [("add", {"text": "milk"})]
    assert [one["uri"] for one in resources["result"]["resources"]] == ["agent://card"]
    card = read_card(
        read["result"]["contents"][0]["text"].encode(), now=time.time(), certificate_hash=None, own_id="somebody else"
    )
    assert card.peer_id == KITCHEN.peer_id


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (question("tools/drop"), -32601),
        (question("tools/call", name="private__read"), -32602),
        (question("tools/call", name="notes__none"), -32602),
        (question("tools/call"), -32602),
        (question("tools/call", name="notes__add", arguments=[1]), -32602),
        (question("resources/read", uri="file:///etc/passwd"), -32602),
        ({"id": 1}, -32602),
        (b"no json", -32602),
        (b"[" * 100_000, -32602),
    ],
)
async def test_what_a_bridge_does_not_answer_is_an_error_with_its_code(asked: Any, code: int) -> None:
    async with bridged() as (bridge, notes):
        answer = await bridge.ask(asked)

    assert (answer["error"]["code"], notes.calls) == (code, [])


async def test_a_tool_is_run_by_its_name_alone_on_the_tool_protocol() -> None:
    asked = {"id": "t1", "name": "notes__add", "arguments": {"text": "milk"}, "timestamp": 1}
    async with bridged() as (bridge, notes):
        answer = await bridge.ask(asked, TOOL_PROTOCOL)

    assert answer == {"id": "t1", "result": text("line one\nline two")}
    assert notes.calls == [("add", {"text": "milk"})]


async def test_a_stranger_is_answered_nothing_and_runs_nothing() -> None:
    async with bridged() as (bridge, notes):
        bridge.peers[KITCHEN.peer_id] = replace(ASKER, peer_id=KITCHEN.peer_id, trust="seen")
        for stranger in (STRANGER.peer_id, KITCHEN.peer_id):
            for method in ("tools/list", "tools/call", "resources/list", "resources/read"):
                answer = await bridge.ask(question(method, name="notes__add", uri="agent://card"), peer_id=stranger)
                assert "PEER_NOT_TRUSTED" in answer["error"]["message"]
        assert notes.calls == []


async def test_whoever_brings_no_card_gets_ours_and_leaves_nothing() -> None:
    async with bridged() as (bridge, _):
        ours = await bridge.answer(STRANGER.peer_id, CARD_PROTOCOL, b"")

    assert read_card(ours, now=time.time(), certificate_hash=None).peer_id == KITCHEN.peer_id
    assert bridge.cards == {}


async def test_cards_that_come_too_often_are_not_looked_at() -> None:
    card = signed_card(card_of(GARAGE, "garage", now=time.time()), GARAGE)
    async with bridged() as (bridge, _):
        for _ in range(CARDS_OF_ONE.burst_size):
            await bridge.ask(card, CARD_PROTOCOL)
        with pytest.raises(RateLimited):
            await bridge.ask(card, CARD_PROTOCOL)


async def test_a_card_counts_only_for_whoever_the_transport_proved() -> None:
    card = signed_card(card_of(GARAGE, "garage", now=time.time()), GARAGE)
    async with bridged() as (bridge, _):
        await bridge.ask(card, CARD_PROTOCOL)
        with pytest.raises(PeerRefused, match="somebody else"):
            await bridge.ask(card, CARD_PROTOCOL, peer_id=STRANGER.peer_id)

    assert list(bridge.cards) == [GARAGE.peer_id]


async def test_a_peer_that_asks_too_often_is_told_so() -> None:
    async with bridged(call_rate=0.01) as (bridge, _):
        answers = [await bridge.ask(question("tools/list")) for _ in range(2)]

    assert ["result" in answer for answer in answers] == [True, False]
    assert "RATE_LIMITED" in answers[-1]["error"]["message"]


async def test_a_peer_has_only_so_many_calls_at_once() -> None:
    gate = asyncio.Event()

    async def slow(_: Any) -> dict[str, Any]:
        await gate.wait()
        return text("done")

    async with bridged() as (bridge, notes):
        bridge.settings = replace(bridge.settings, peers_max_calls=1)
        notes.tools["slow"] = slow
        first = asyncio.create_task(bridge.ask(question("tools/call", name="notes__slow")))
        while not notes.running:  # noqa: ASYNC110 - it runs on another task, and the test has its bound
            await asyncio.sleep(0)
        second = await bridge.ask(question("tools/call", name="notes__slow"))
        gate.set()

        assert "RATE_LIMITED" in second["error"]["message"]
        assert (await first)["result"] == text("done")


class PeerOpener:
    """Opens links to a peer whose lines are answered by a bridge."""

    def __init__(self, bridge: Bridged) -> None:
        self._bridge = bridge
        self.is_away = False

    async def __call__(self, entry: ServerSpec, _: NotificationHandler) -> Libp2pLink:
        return Libp2pLink(entry.name, self._ask)

    async def _ask(self, line: bytes, _: float) -> bytes:
        if self.is_away:
            raise ServerConnectionError("no answer within 30 s", server="the peer", sent=True)
        return await self._bridge.answer(GARAGE.peer_id, MCP_PROTOCOL, line)

    async def close(self) -> None:
        """Nothing is shared."""


@asynccontextmanager
async def asking(opener: PeerOpener) -> AsyncIterator[Gateway]:
    """A gateway for which the other one is the server `peer-kitchen`."""
    kitchen = ServerSpec("peer-kitchen", RemoteLaunch(peer_url(KITCHEN.peer_id)))
    async with open_gateway(settings=Settings(servers=(kitchen,)), opener=opener) as gateway:
        yield gateway


async def test_a_peer_is_a_server_whose_tools_are_found_and_run() -> None:
    async with bridged() as (bridge, notes), asking(PeerOpener(bridge)) as gateway:
        await gateway.list_tools("peer-kitchen")
        (hit, *_) = (await gateway.search_tools("notes__add")).hits
        done = await gateway.execute_tool(hit.server, hit.tool, {"text": "milk"})

    assert (hit.server, hit.tool, done.value) == ("peer-kitchen", "notes__add", "line one\nline two")
    assert notes.calls == [("add", {"text": "milk"})]


async def test_a_peer_that_no_longer_trusts_us_is_an_error_of_the_call() -> None:
    async with bridged() as (bridge, _), asking(PeerOpener(bridge)) as gateway:
        await gateway.list_tools("peer-kitchen")
        del bridge.peers[GARAGE.peer_id]
        done = await gateway.execute_tool("peer-kitchen", "notes__add", {})

    assert done.error is not None
    assert (done.error.code, "PEER_NOT_TRUSTED" in done.error.message) == ("TOOL_EXECUTION_ERROR", True)


async def test_a_peer_that_is_away_may_have_run_the_call_and_is_reached_again_later() -> None:
    async with bridged() as (bridge, _):
        opener = PeerOpener(bridge)
        async with asking(opener) as gateway:
            await gateway.list_tools("peer-kitchen")
            opener.is_away = True
            failed = await gateway.execute_tool("peer-kitchen", "notes__add", {})
            opener.is_away = False
            assert failed.error is not None
            assert (failed.error.code, "Outcome unknown" in failed.error.hint) == ("SERVER_CONNECTION_ERROR", True)
            assert (await gateway.execute_tool("peer-kitchen", "notes__add", {})).success
