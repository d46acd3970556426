"""Attacks on the port of a machine by a neighbour that can open any number of connections, from several addresses."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.peers.hand_made import HandMadePeer
from tests.peers.machines import BOUND_SECONDS, LOOPBACK, Machine, machine
from tests.peers.strangers import Stranger, stranger
from toolcrib.engine.capabilities import read_capabilities
from toolcrib.peers.call_proof import proof_for
from toolcrib.peers.certificate import any_certificate, certificate_hash, kept_certificate
from toolcrib.peers.identity import Identity
from toolcrib.server.peer_guard import MOST_GREETED

pytestmark = pytest.mark.skipif(
    not hasattr(socket, "SO_REUSEPORT"),
    reason="one machine has many addresses on its own network only on POSIX systems",
)


@pytest.fixture
async def kitchen(tmp_path: Path) -> AsyncIterator[Machine]:
    notes = FakeServer("notes", [tool("add", "Add a note.")], tools={"add": lambda _: text("added")})
    async with machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes:add",)) as opened:
        assert await opened.gateway.ready(10)
        yield opened


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[Stranger]:
    async with stranger(tmp_path / "visitor") as one:
        yield one


@asynccontextmanager
async def connected(
    kitchen: Machine, source: str = LOOPBACK
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection on which anything can be said."""
    reader, writer = await asyncio.open_connection(
        LOOPBACK, kitchen.port, ssl=any_certificate(), local_addr=(source, 0), server_hostname=""
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def said(kitchen: Machine, request: bytes) -> bytes:
    """The first line of what comes back; nothing where the connection is closed without a word."""
    async with connected(kitchen) as (reader, writer), asyncio.timeout(15):
        writer.write(request)
        return (await reader.readline()).strip()


def head_of_a_card(kitchen: Machine, identity: Identity) -> bytes:
    certificate = kept_certificate(kitchen.paths.peer_certificate, kitchen.peer_id)
    proof = proof_for(identity, kitchen.peer_id, certificate_hash(certificate), time.time())
    lines = ("POST /agent/card HTTP/1.1", "host: x", f"authorization: Bearer {proof}", "content-length: 1000")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def trusted(visitor: Stranger, kitchen: Machine) -> None:
    assert (await visitor.leave_card(kitchen)).status_code == httpx2.codes.OK
    await kitchen.knows("peer-stranger")
    kitchen.trust("stranger")
    async with asyncio.timeout(10):
        while (await visitor.ask(kitchen, "ping")).status_code == httpx2.codes.FORBIDDEN:  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.05)


async def test_cards_that_never_end_take_few_places_and_a_trusted_peer_has_its_own(
    kitchen: Machine, visitor: Stranger
) -> None:
    await trusted(visitor, kitchen)
    async with AsyncExitStack() as held:
        waiting = []
        # As many ids from as many addresses as the common limit lets through in these seconds.
        for number in range(1, 61):
            reader, writer = await held.enter_async_context(connected(kitchen, f"127.0.1.{number}"))
            writer.write(head_of_a_card(kitchen, Identity(number.to_bytes(32))) + b"{")
            waiting.append(asyncio.create_task(reader.readline()))
            await asyncio.sleep(0.05)
        await asyncio.wait(waiting, timeout=1)
        assert sum(not task.done() for task in waiting) <= MOST_GREETED

        # Whoever is trusted is not held up by those that nobody knows.
        answers = [await visitor.leave_card(kitchen) for _ in range(2)]
        assert [one.status_code for one in answers] == [httpx2.codes.OK] * 2
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


REQUESTS = {
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an upgrade": b"GET /mcp HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
    "a web socket": b"GET /mcp HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n\r\n",
    "a proxy": b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: 127.0.0.1:22\r\n\r\n",
    "another host": b"GET http://127.0.0.1:8665/health HTTP/1.1\r\nhost: 127.0.0.1:8665\r\n\r\n",
    "a way around": b"POST /agent/../mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
    "a way around with signs": b"POST /agent%2f..%2fmcp HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
    "a slash too many": b"POST /mcp/ HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n",
    "two lengths": b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
    "a length and chunks": b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "a long line": b"GET /agent/card HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
    "many lines": b"GET /agent/card HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 50_000 + b"\r\n",
    "a proof of a megabyte": b"POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + b"e30." * 3_000 + b"\r\n\r\n",
    "noise": bytes(range(256)) * 10,
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
async def test_odd_requests_reach_nothing_and_the_next_one_is_served(
    kitchen: Machine, visitor: Stranger, request_: bytes
) -> None:
    answer = await said(kitchen, request_)

    assert answer == b"" or answer.split()[1] in {b"400", b"401", b"403", b"404", b"405", b"431"}, answer
    assert (await visitor.card_of(kitchen))["name"] == "kitchen"


async def test_what_is_no_tls_or_an_old_one_is_sent_away(kitchen: Machine, visitor: Stranger) -> None:
    for noise in (b"GET /agent/card HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + b"\xff" * 5_000, b"\0" * 100):
        reader, writer = await asyncio.open_connection(LOOPBACK, kitchen.port)
        writer.write(noise)
        with suppress(ConnectionError):
            async with asyncio.timeout(15):
                await reader.read()
        writer.close()
    old = any_certificate()
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection(LOOPBACK, kitchen.port, ssl=old, server_hostname="")

    assert (await visitor.card_of(kitchen))["name"] == "kitchen"


async def test_a_proof_that_one_machine_was_given_is_worth_nothing_at_another(
    kitchen: Machine, visitor: Stranger, tmp_path: Path
) -> None:
    await trusted(visitor, kitchen)
    proof = visitor.proof(kitchen)
    async with machine(tmp_path / "garden", "garden") as garden:
        assert (await visitor.ask(garden, "ping", proof)).status_code == httpx2.codes.UNAUTHORIZED
    assert (await visitor.ask(kitchen, "ping", proof)).status_code == httpx2.codes.OK


async def test_a_stranger_does_not_learn_whom_a_machine_trusts_and_its_person_learns_what_it_claims(
    kitchen: Machine, visitor: Stranger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await trusted(visitor, kitchen)
    async with stranger(tmp_path / "curious") as curious:
        answer = await _when_it_may(curious, kitchen, curious.card("stranger"))

    assert answer.status_code == httpx2.codes.FORBIDDEN
    assert visitor.identity.peer_id not in answer.text
    assert "name" not in answer.text
    assert [one for one in caplog.messages if curious.identity.peer_id in one and "claims the name of" in one]


async def test_tools_of_a_machine_that_only_calls_are_not_kept(kitchen: Machine, visitor: Stranger) -> None:
    tools = [{"name": f"tool{number}", "description": "x" * 1_000, "inputSchema": {}} for number in range(190)]

    assert (await visitor.leave_card(kitchen, visitor.card(definitions=tools))).status_code == httpx2.codes.OK

    known = (await kitchen.knows("peer-stranger")).card
    assert known is not None
    assert (known.definitions, known.tool_count) == ((), 0)


async def test_a_card_that_is_another_at_every_look_is_one_peer_and_one_proposal(tmp_path: Path) -> None:
    peer = HandMadePeer("changing", tmp_path / "neighbour")
    peer.body = lambda: peer.card({"name": f"tool{len(peer.asked)}", "parameters": {}})
    async with (
        peer.listening(LOOPBACK),
        machine(tmp_path / "study", "study", peers_static=(str(peer.address),)) as study,
    ):
        await eventually(lambda: peer.looks >= 5, BOUND_SECONDS)
        assert list(study.peers()) == ["peer-changing"]
        with read_capabilities(study.settings, {"TOOLCRIB_HOME": str(study.folder)}) as opened:
            assert len(opened.approvals.all()) == 1


async def _when_it_may(who: Stranger, kitchen: Machine, card: bytes) -> httpx2.Response:
    """Leave a card, as soon as this address may leave one more."""
    async with asyncio.timeout(10):
        while True:
            answer = await who.leave_card(kitchen, card)
            if answer.status_code != httpx2.codes.TOO_MANY_REQUESTS:
                return answer
            await asyncio.sleep(0.2)
