"""Clients that want to hear of changes: our stdio session and the SDK's server, both eras, over servers of both eras."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import ref

import pytest
from mcp.server.connection import Connection, NotifyOnlyOutbound

from tests.fakes import FakeServer, eventually
from tests.gateways import read_counter
from tests.items import PICTURE, README, library
from tests.server.stdio_peers import OurPeer, SdkPeer, sdk_peer
from tests.server.test_native_methods import META, NativeClient
from toolcrib import Gateway
from toolcrib.model.caller import EVERYTHING, LIBRARY, Rights
from toolcrib.model.tool_rule import ToolRule
from toolcrib.server.http_listening import HttpListening
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.requests import Request
from toolcrib.server.session_journal import Journal, Progress

PAIRS = [
    (face, client, server)
    for face in ("stdio", "sdk")
    for client in ("legacy", "modern")
    for server in ("legacy", "modern")
]
FILE, LOGO = str(README["uri"]), "file:///work/logo.png"
UPDATED = "notifications/resources/updated"


def told(peer: OurPeer | SdkPeer, method: str) -> list[dict[str, Any]]:
    return [message["params"] for message in peer.answers if message.get("method") == method]


def addresses(peer: OurPeer | SdkPeer) -> list[str]:
    return [params["uri"] for params in told(peer, UPDATED)]


def shelf(era: Any, name: str = "library") -> FakeServer:
    server = library(name, era)
    server.methods |= {"resources/subscribe": lambda _: {}, "resources/unsubscribe": lambda _: {}}
    return server


def subscribed(server: FakeServer) -> list[list[str]]:
    """What the server was asked to tell about, request by request."""
    if server.era == "legacy":
        return [[params["uri"]] for method, params in server.heard if method == "resources/subscribe"]
    asked = (params["notifications"] for method, params in server.heard if method == "subscriptions/listen")
    return [wanted["resourceSubscriptions"] for wanted in asked if "resourceSubscriptions" in wanted]


@dataclass
class Listener(NativeClient):
    """A client that listens in the way of its era."""

    async def listen(self, *uris: str, lists: bool = False) -> None:
        if self.era == "legacy":
            for uri in uris:
                await self.ask("resources/subscribe", uri=uri)
            return
        before = len(told(self.peer, "notifications/subscriptions/acknowledged"))
        wanted: dict[str, Any] = {"promptsListChanged": True, "resourcesListChanged": True} if lists else {}
        self.number += 1
        params = {"notifications": {**wanted, "resourceSubscriptions": list(uris)}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": self.number, "method": "subscriptions/listen", "params": params}
        await self.peer.send(message)
        await eventually(lambda: len(told(self.peer, "notifications/subscriptions/acknowledged")) > before)

    async def stop(self, uri: str) -> None:
        if self.era == "legacy":
            await self.ask("resources/unsubscribe", uri=uri)
        else:
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": self.number, "_meta": META}}
            await self.peer.send({"jsonrpc": "2.0", **cancelled})


@asynccontextmanager
async def listeners(
    gateway: Gateway, face: str, era: str, count: int = 2, *, first: Rights = EVERYTHING
) -> AsyncIterator[list[Listener]]:
    """So many clients that have said hello, the first of which may have fewer rights."""
    async with AsyncExitStack() as stack:
        peers = [
            OurPeer(gateway) if face == "stdio" else await stack.enter_async_context(sdk_peer(gateway))
            for _ in range(count)
        ]
        if isinstance(peers[0], OurPeer):
            peers[0].rights = first
        clients = [Listener(peer, era) for peer in peers]
        for client in clients:
            await client.hello()
        yield clients
        for peer in peers:
            if isinstance(peer, OurPeer):
                await peer.session.calls.cancel_all()


@pytest.mark.parametrize(("face", "client_era", "server_era"), PAIRS)
async def test_an_update_reaches_only_who_subscribed(face: str, client_era: str, server_era: str) -> None:
    server = shelf(server_era)
    async with read_counter(server) as gateway, listeners(gateway, face, client_era) as (ann, bob):
        await ann.listen(FILE)
        await bob.listen(LOGO)
        await eventually(lambda: len(subscribed(server)) == 2)
        server.notify(UPDATED, {"uri": FILE})
        await eventually(lambda: addresses(ann.peer))
        server.notify(UPDATED, {"uri": LOGO})
        await eventually(lambda: addresses(bob.peer))
        await ann.stop(FILE)
        await bob.ask("resources/read", uri=FILE)
        server.notify(UPDATED, {"uri": FILE})
        server.notify(UPDATED, {"uri": LOGO})
        await eventually(lambda: len(addresses(bob.peer)) == 2)

    assert addresses(ann.peer) == [FILE]
    assert addresses(bob.peer) == [LOGO, LOGO]
    if client_era == "modern":
        (heard,) = told(ann.peer, UPDATED)
        assert heard["_meta"] == {"io.modelcontextprotocol/subscriptionId": ann.number}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_many_who_listen_are_one_subscription_at_the_server(era: str) -> None:
    server = shelf(era)
    async with read_counter(server) as gateway, listeners(gateway, "stdio", "legacy", 3) as clients:
        for client in clients:
            await client.listen(FILE)
        await eventually(lambda: len(subscribed(server)) == 1)
        for client in clients[:2]:
            await client.stop(FILE)
        server.notify(UPDATED, {"uri": FILE})
        await eventually(lambda: addresses(clients[2].peer))
        await clients[2].stop(FILE)
        if era == "legacy":
            await eventually(lambda: server.count("resources/unsubscribe") == 1)
        else:
            await eventually(lambda: server.cancelled)

    assert subscribed(server) == [[FILE]]


async def test_a_part_of_a_resource_is_told_to_who_listens_to_the_whole() -> None:
    server = shelf("legacy")
    async with read_counter(server) as gateway, listeners(gateway, "stdio", "legacy", 1) as (ann,):
        await ann.listen("db://tables/books")
        server.notify(UPDATED, {"uri": "db://tables/books/7"})
        server.notify(UPDATED, {"uri": "db://tables/bookshelves"})
        await eventually(lambda: addresses(ann.peer))

    assert addresses(ann.peer) == ["db://tables/books/7"]


async def test_the_second_server_with_an_address_is_told_under_ours() -> None:
    first, second = shelf("legacy"), shelf("legacy", "annex")
    async with read_counter(first, second) as gateway, listeners(gateway, "stdio", "legacy", 1) as (ann,):
        own = (await ann.ask("resources/list"))["resources"][2]["uri"]
        await ann.listen(own)
        first.notify(UPDATED, {"uri": FILE})
        second.notify(UPDATED, {"uri": FILE})
        await eventually(lambda: addresses(ann.peer))

    assert addresses(ann.peer) == [own]
    assert subscribed(first) == []


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_may_not_be_read_is_not_listened_to(era: str) -> None:
    server = shelf("legacy")
    rules = (ToolRule(("resource:file:*",), enabled=False),)
    async with read_counter(server, tool_rules=rules) as gateway, listeners(gateway, "stdio", era, 1) as (ann,):
        if era == "legacy":
            refused = await ann.refusal("resources/subscribe", uri=FILE)
            assert refused["code"] == -32002
        else:
            await ann.listen(FILE, "db://tables/books")
            (honoured,) = told(ann.peer, "notifications/subscriptions/acknowledged")
            assert honoured["notifications"] == {"resourceSubscriptions": ["db://tables/books"]}

    assert [FILE] not in subscribed(server)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_was_lost_is_subscribed_to_again(era: str) -> None:
    server = shelf(era)
    async with read_counter(server) as gateway, listeners(gateway, "stdio", "legacy", 1) as (ann,):
        await ann.listen(FILE)
        await eventually(lambda: len(subscribed(server)) == 1)
        server.crash()
        await ann.ask("resources/read", uri=FILE)
        await eventually(lambda: len(subscribed(server)) == 2)
        server.notify(UPDATED, {"uri": FILE})
        await eventually(lambda: addresses(ann.peer))

    assert addresses(ann.peer) == [FILE]


@pytest.mark.parametrize(("face", "client_era", "server_era"), PAIRS[::3])
async def test_changed_lists_are_told(face: str, client_era: str, server_era: str) -> None:
    server = shelf(server_era)
    async with read_counter(server) as gateway, listeners(gateway, face, client_era, 1) as (ann,):
        await ann.ask("prompts/list")
        await ann.listen(lists=True)
        server.methods["prompts/list"] = lambda _: {"prompts": [PICTURE]}
        server.notify("notifications/prompts/list_changed")
        await eventually(lambda: told(ann.peer, "notifications/prompts/list_changed"))
        listed = (await ann.ask("prompts/list"))["prompts"]

    assert [one["name"] for one in listed] == ["library__picture"]
    assert told(ann.peer, "notifications/resources/list_changed") == []


class Remembered(Journal):
    """Keeps what a session says of itself last."""

    def __init__(self) -> None:
        self.session: dict[str, Any] = {}

    def met(self, session: Any) -> None:
        self.session = dict(session)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_subscription_outlives_the_engine(era: str) -> None:
    server = shelf("legacy")
    async with read_counter(server) as gateway, listeners(gateway, "stdio", era, 2) as (before, after):
        assert isinstance(before.peer, OurPeer)
        assert isinstance(after.peer, OurPeer)
        remembered = before.peer.session._journal = Remembered()
        await before.listen(FILE)
        await eventually(lambda: any(remembered.session.get(key) for key in ("subscribed", "listening")))
        await before.peer.session.calls.cancel_all()
        after.peer.session.resume(Progress(session=remembered.session))
        await eventually(lambda: len(subscribed(server)) == 2)
        server.notify(UPDATED, {"uri": FILE})
        await eventually(lambda: addresses(after.peer))

    assert addresses(before.peer) == []
    assert addresses(after.peer) == [FILE]
    assert told(after.peer, "notifications/subscriptions/acknowledged") == []


async def test_a_stream_that_a_new_server_ends_is_opened_again() -> None:
    server = shelf("modern")
    async with read_counter(server) as gateway, listeners(gateway, "stdio", "legacy", 1) as (ann,):
        server.methods["subscriptions/listen"] = lambda _: {}
        await ann.listen(FILE)
        await eventually(lambda: subscribed(server))
        del server.methods["subscriptions/listen"]  # from now on it goes on for ever
        await eventually(lambda: len(subscribed(server)) == 2)
        server.notify(UPDATED, {"uri": FILE})
        await eventually(lambda: addresses(ann.peer))

    assert addresses(ann.peer) == [FILE]


async def test_a_client_of_the_sdk_that_is_gone_is_forgotten() -> None:
    async with read_counter(shelf("legacy")) as gateway:
        listening = HttpListening(MetaTools(gateway).native)
        connection = Connection(NotifyOnlyOutbound(None), protocol_version="2025-11-25")  # type: ignore[arg-type]
        first = listening.greet(connection, Request(LIBRARY))
        assert listening.greet(connection, Request(LIBRARY)) is first
        await connection.exit_stack.aclose()
        gone = ref(connection)
        del connection, first
        gc.collect()

        assert gone() is None


async def test_who_listens_no_longer_is_answered_though_the_server_has_forgotten_us() -> None:
    server = shelf("legacy")
    async with read_counter(server) as gateway, listeners(gateway, "stdio", "legacy", 1) as (ann,):
        await ann.listen(FILE)
        server.forget_sessions()
        assert await ann.ask("resources/unsubscribe", uri=FILE) == {}


async def test_a_part_that_may_not_be_read_is_not_told_of() -> None:
    server = shelf("legacy")
    rules = (ToolRule(("resource:db://tables/books/secret*",), enabled=False),)
    async with read_counter(server, tool_rules=rules) as gateway, listeners(gateway, "stdio", "legacy", 1) as (ann,):
        await ann.listen("db://tables/books")
        server.notify(UPDATED, {"uri": "db://tables/books/secret-plan"})
        server.notify(UPDATED, {"uri": "db://tables/books/7"})
        await eventually(lambda: addresses(ann.peer))

    assert addresses(ann.peer) == ["db://tables/books/7"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_whose_rights_were_narrowed_hears_no_more_of_what_it_may_not_read(era: str) -> None:
    server = shelf("legacy")
    async with read_counter(server) as gateway, listeners(gateway, "stdio", era, 2) as (ann, bob):
        await ann.listen(FILE)
        await bob.listen(FILE)
        await eventually(lambda: subscribed(server))
        assert isinstance(ann.peer, OurPeer)
        ann.peer.rights = Rights(servers=("another",))
        server.notify(UPDATED, {"uri": FILE})
        await eventually(lambda: addresses(bob.peer))
        assert addresses(ann.peer) == []
        ann.peer.rights = EVERYTHING
        server.notify(UPDATED, {"uri": FILE})
        await eventually(lambda: addresses(ann.peer))

    assert addresses(ann.peer) == [FILE]


async def test_a_session_begins_to_listen_with_the_rights_that_it_has_by_then() -> None:
    server = shelf("legacy")
    async with read_counter(server) as gateway, listeners(gateway, "stdio", "legacy", 1) as (ann,):
        await ann.listen(LOGO)
        assert isinstance(ann.peer, OurPeer)
        ann.peer.rights = Rights(servers=("another",))
        refused = await ann.refusal("resources/subscribe", uri=FILE)

    assert refused["code"] == -32002
    assert subscribed(server) == [[LOGO]]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_changed_lists_are_told_to_those_for_whom_they_changed(era: str) -> None:
    work, home = shelf("legacy", "work"), shelf("legacy", "home")
    at_home = Rights(servers=("home",))
    async with read_counter(work, home) as gateway, listeners(gateway, "stdio", era, first=at_home) as (ann, bob):
        for client in (ann, bob):
            await client.ask("prompts/list")
            await client.listen(lists=True)
        work.methods["prompts/list"] = lambda _: {"prompts": [PICTURE]}
        work.notify("notifications/prompts/list_changed")
        await eventually(lambda: told(bob.peer, "notifications/prompts/list_changed"))
        # Heard in turn, so this one has heard of all that came before.
        home.methods["resources/list"] = lambda _: {"resources": [README]}
        home.notify("notifications/resources/list_changed")
        await eventually(lambda: told(ann.peer, "notifications/resources/list_changed"))

    assert told(ann.peer, "notifications/prompts/list_changed") == []
