"""What somebody meets who comes to the port of a machine: strangers, impostors, and trusted peers that ask for too much."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.peers.machines import Machine, machine
from tests.peers.strangers import Stranger, answer_in, stranger
from toolcrib.peers.call_proof import proof_for
from toolcrib.peers.certificate import certificate_hash, kept_certificate
from toolcrib.server.peer_door import DoorLimits

HIDDEN = "secrets__read"


@pytest.fixture
async def kitchen(tmp_path: Path) -> AsyncIterator[Machine]:
    """A machine that offers one tool of one server, and keeps another server to itself."""
    notes = FakeServer("notes", [tool("add", "Add a note.")], tools={"add": lambda _: text("added")})
    secrets = FakeServer("secrets", [tool("read")])
    async with machine(tmp_path / "kitchen", "kitchen", notes, secrets, peers_expose=("notes:add",)) as opened:
        assert await opened.gateway.ready(10)
        yield opened


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[Stranger]:
    async with stranger(tmp_path / "visitor") as one:
        yield one


async def trusted(visitor: Stranger, kitchen: Machine, name: str = "stranger") -> None:
    """Have the person at the machine trust the visitor."""
    assert (await visitor.leave_card(kitchen, visitor.card(name))).status_code == httpx2.codes.OK
    await kitchen.knows(f"peer-{name}")
    kitchen.trust(name)
    async with asyncio.timeout(10):
        while (await visitor.ask(kitchen, "ping")).status_code == httpx2.codes.FORBIDDEN:  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.05)


async def test_a_stranger_reads_the_card_and_nothing_else(kitchen: Machine, visitor: Stranger) -> None:
    card = await visitor.card_of(kitchen)

    assert card["peerId"] == kitchen.peer_id
    assert [one["name"] for one in card["tools"]] == ["notes__add"]
    assert (await visitor.client.get(f"https://{kitchen.address}/.well-known/agent-card.json")).json()[
        "name"
    ] == "kitchen"
    for method in ("tools/list", "tools/call", "resources/list"):
        assert (await visitor.ask(kitchen, method)).status_code == httpx2.codes.FORBIDDEN
    assert (await visitor.ask(kitchen, "tools/list", proof="nothing")).status_code == httpx2.codes.UNAUTHORIZED
    assert (await visitor.client.get(f"https://{kitchen.address}/agent/peers")).status_code == httpx2.codes.UNAUTHORIZED
    assert kitchen.peers() == {}


async def test_a_card_that_is_known_is_not_sent_again(kitchen: Machine, visitor: Stranger) -> None:
    first = await visitor.client.get(f"https://{kitchen.address}/agent/card")

    again = await visitor.client.get(first.url, headers={"if-none-match": first.headers["etag"]})

    assert (again.status_code, again.content) == (httpx2.codes.NOT_MODIFIED, b"")


async def test_a_trusted_peer_gets_the_exposed_tools_as_its_person_saw_them(
    kitchen: Machine, visitor: Stranger
) -> None:
    await trusted(visitor, kitchen)
    card = await visitor.card_of(kitchen)

    listed = answer_in(await visitor.ask(kitchen, "tools/list"))["result"]["tools"]
    called = answer_in(await visitor.ask(kitchen, "tools/call", name="notes__add", arguments={}))["result"]
    read = answer_in(await visitor.ask(kitchen, "resources/read", uri="agent://card"))["result"]["contents"]

    assert listed == [{"inputSchema": one.pop("parameters"), **one} for one in card["tools"]]
    assert called == text("added")
    assert json.loads(read[0]["text"])["peerId"] == kitchen.peer_id


async def test_a_tool_that_is_not_exposed_cannot_be_run(kitchen: Machine, visitor: Stranger) -> None:
    await trusted(visitor, kitchen)

    hidden = answer_in(await visitor.ask(kitchen, "tools/call", name=HIDDEN, arguments={}))["error"]
    absent = answer_in(await visitor.ask(kitchen, "tools/call", name="nobody__there", arguments={}))["error"]
    meta = answer_in(await visitor.ask(kitchen, "tools/call", name="execute_tool", arguments={}))["error"]

    assert kitchen.servers["secrets"].calls == []
    assert {one["code"] for one in (hidden, absent, meta)} == {-32602}
    assert hidden["message"].replace(HIDDEN, "nobody__there") == absent["message"]


@pytest.mark.parametrize("method", ["prompts/list", "resources/templates/list"])
async def test_nothing_but_tools_and_the_card_is_served_to_peers(
    kitchen: Machine, visitor: Stranger, method: str
) -> None:
    await trusted(visitor, kitchen)

    assert answer_in(await visitor.ask(kitchen, method))["error"]["code"] == -32601


async def test_a_proof_for_another_server_opens_no_door(kitchen: Machine, visitor: Stranger, tmp_path: Path) -> None:
    await trusted(visitor, kitchen)
    elsewhere = certificate_hash(kept_certificate(tmp_path / "other.pem", kitchen.peer_id))
    relayed = proof_for(visitor.identity, kitchen.peer_id, elsewhere, time.time())

    assert (await visitor.ask(kitchen, "tools/list", proof=relayed)).status_code == httpx2.codes.UNAUTHORIZED


async def test_web_pages_reach_nothing_on_the_peer_port(kitchen: Machine, visitor: Stranger) -> None:
    answer = await visitor.client.get(
        f"https://{kitchen.address}/agent/card", headers={"origin": "https://example.com"}
    )

    assert answer.status_code == httpx2.codes.FORBIDDEN


async def test_a_card_of_somebody_else_is_not_taken(kitchen: Machine, visitor: Stranger, tmp_path: Path) -> None:
    async with stranger(tmp_path / "third") as third:
        assert (await visitor.leave_card(kitchen, third.card())).status_code == httpx2.codes.FORBIDDEN
    assert kitchen.peers() == {}


async def test_a_card_that_is_too_large_or_too_old_is_not_taken(kitchen: Machine, visitor: Stranger) -> None:
    old = visitor.card(now=time.time() - 3600)

    assert (await visitor.leave_card(kitchen, b" " * 300_000)).status_code == httpx2.codes.CONTENT_TOO_LARGE
    assert (await visitor.leave_card(kitchen, old)).status_code == httpx2.codes.FORBIDDEN
    assert kitchen.peers() == {}


async def test_each_peer_has_its_own_limit(kitchen: Machine, visitor: Stranger, tmp_path: Path) -> None:
    await trusted(visitor, kitchen)
    answers = [await visitor.ask(kitchen, "tools/list") for _ in range(30)]

    refused = [one for one in answers if one.status_code == httpx2.codes.TOO_MANY_REQUESTS]
    assert len(refused) >= 10
    assert int(refused[0].headers["retry-after"]) >= 1
    async with stranger(tmp_path / "another") as another:
        assert (await another.ask(kitchen, "tools/list")).status_code == httpx2.codes.FORBIDDEN


async def test_a_peer_with_as_many_calls_as_it_may_have_waits_and_another_one_gets_in(
    visitor: Stranger, tmp_path: Path
) -> None:
    ended = asyncio.Event()

    async def slow(arguments: dict[str, Any]) -> Any:
        if arguments:
            await ended.wait()
        return text("done")

    notes = FakeServer("notes", [tool("add")], tools={"add": slow})
    given = {"peers_expose": ("notes:add",), "peers_max_calls": 2, "peers_call_rate": 100.0}
    async with (
        machine(tmp_path / "kitchen", "kitchen", notes, **given) as kitchen,
        stranger(tmp_path / "another") as another,
    ):
        assert await kitchen.gateway.ready(10)
        await trusted(visitor, kitchen)
        await trusted(another, kitchen, "another")
        calls = [
            asyncio.create_task(visitor.ask(kitchen, "tools/call", name="notes__add", arguments={"n": n}))
            for n in range(2)
        ]
        await eventually(lambda: notes.running == 2)

        refused = await visitor.ask(kitchen, "tools/call", name="notes__add", arguments={})
        let_in = await another.ask(kitchen, "tools/call", name="notes__add", arguments={})
        ended.set()

        assert (refused.status_code, refused.headers["retry-after"]) == (httpx2.codes.TOO_MANY_REQUESTS, "1")
        assert answer_in(let_in)["result"]["content"][0]["text"] == "done"
        assert [one.status_code for one in await asyncio.gather(*calls)] == [httpx2.codes.OK] * 2
        again = await visitor.ask(kitchen, "tools/call", name="notes__add", arguments={})
        assert again.status_code == httpx2.codes.OK


async def test_a_peer_that_calls_is_audited_under_its_name(kitchen: Machine, visitor: Stranger) -> None:
    await trusted(visitor, kitchen)
    await visitor.ask(kitchen, "tools/call", name="notes__add", arguments={})

    (line,) = [
        json.loads(one)
        for one in kitchen.paths.audit_log.read_text().splitlines()
        if '"peer-stranger"' in one and '"add"' in one
    ]
    assert (line["caller"], line["face"], line["server"], line["tool"]) == ("peer-stranger", "peer", "notes", "add")


async def test_idle_connections_do_not_keep_a_peer_out(kitchen: Machine, visitor: Stranger) -> None:
    with ExitStack() as held:
        idle = [held.enter_context(socket.socket()) for _ in range(1_000)]
        for one in idle:
            one.setblocking(False)
            await asyncio.get_running_loop().sock_connect(one, (kitchen.address.host, kitchen.port))

        async with asyncio.timeout(5):
            assert (await visitor.card_of(kitchen))["name"] == "kitchen"
        # Far less than the time that a handshake may take has passed: the others had to make room.
        assert sum(map(_is_open, idle)) <= DoorLimits().waiting_per_host


def _is_open(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
