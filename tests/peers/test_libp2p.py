"""Peers over real libp2p, in processes of their own on the loopback address."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.peers.cards import GARAGE, KITCHEN, card_of
from tests.peers.libp2p_nodes import Node, named_kitchen, needs_libp2p, nobody, node, until
from tests.peers.test_peer_bridge import bridged
from toolcrib import Gateway, Settings, open_gateway
from toolcrib.errors import ServerConnectionError
from toolcrib.lan import libp2p_process
from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL, TOOL_PROTOCOL, Libp2pProcess, NodeSettings
from toolcrib.model.peer import peer_url
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.peers.card import read_card, signed_card
from toolcrib.upstream.libp2p_link import Libp2pLink
from toolcrib.upstream.link import NotificationHandler

pytestmark = pytest.mark.timeout(150)
# The letters of which the keys in tests.peers.cards are made.
KITCHEN_LETTER, GARAGE_LETTER, STRANGER_LETTER = "k", "g", "s"


class OverLibp2p:
    """Opens links to a peer that another node is."""

    def __init__(self, own: Node, other: Node) -> None:
        self._own = own
        self._other = other

    async def __call__(self, entry: ServerSpec, _: NotificationHandler) -> Libp2pLink:
        return Libp2pLink(entry.name, self._ask)

    async def _ask(self, line: bytes, seconds: float) -> bytes:
        return await self._own.ask(self._other, MCP_PROTOCOL, line, seconds)

    async def close(self) -> None:
        """The nodes are closed by who started them."""


@asynccontextmanager
async def asking(own: Node, other: Node) -> AsyncIterator[Gateway]:
    kitchen = ServerSpec("peer-kitchen", RemoteLaunch(peer_url(other.peer_id)))
    async with open_gateway(settings=Settings(servers=(kitchen,)), opener=OverLibp2p(own, other)) as gateway:
        yield gateway


def signed(letter: str) -> bytes:
    identity = KITCHEN if letter == KITCHEN_LETTER else GARAGE
    return signed_card(card_of(identity, letter, now=time.time()), identity)


@needs_libp2p
async def test_nodes_exchange_cards_and_run_tools(tmp_path: Path) -> None:
    """Cards are exchanged, tools found and run; the ids are those of the same keys elsewhere."""
    async with (
        bridged() as (bridge, notes),
        node(KITCHEN_LETTER, tmp_path, bridge.answer) as kitchen,
        node(GARAGE_LETTER, tmp_path) as garage,
    ):
        assert kitchen.address.endswith(f"/p2p/{KITCHEN.peer_id}")
        assert await garage.process.connect(KITCHEN.peer_id, [kitchen.address], 20.0) == kitchen.address
        theirs = await garage.ask(kitchen, CARD_PROTOCOL, signed(GARAGE_LETTER))
        assert read_card(theirs, now=time.time(), certificate_hash=None).peer_id == KITCHEN.peer_id
        await until(lambda: GARAGE.peer_id in bridge.cards)
        # Where it listens itself came with it, so that it can be asked too.
        await until(lambda: kitchen.found)
        assert kitchen.found[0] == (GARAGE.peer_id, (garage.address,), "libp2p")

        async with asking(garage, kitchen) as gateway:
            await gateway.list_tools("peer-kitchen")
            (hit, *_) = (await gateway.search_tools("notes__add")).hits
            done = await gateway.execute_tool(hit.server, hit.tool, {"text": "milk"})
        assert (hit.tool, done.value) == ("notes__add", "line one\nline two")
        assert notes.calls == [("add", {"text": "milk"})]

        asked = json.dumps({"id": "t", "name": "notes__add", "arguments": {}, "timestamp": 1}).encode()
        assert json.loads(await garage.ask(kitchen, TOOL_PROTOCOL, asked))["id"] == "t"


@needs_libp2p
async def test_a_peer_is_tried_at_one_address_after_the_other_by_number_and_by_name(tmp_path: Path) -> None:
    async with node(KITCHEN_LETTER, tmp_path) as kitchen, node(GARAGE_LETTER, tmp_path) as garage:
        port = kitchen.address.split("/")[4]
        dead, named = "/ip4/127.0.0.1/tcp/1", f"/dns4/localhost/tcp/{port}/p2p/{kitchen.peer_id}"
        with pytest.raises(ServerConnectionError) as caught:
            await garage.process.connect(kitchen.peer_id, [dead], 20.0)
        assert not caught.value.sent
        # At once: one failure does not keep a peer away, as it would with libp2p alone.
        assert await garage.process.connect(kitchen.peer_id, [dead, named], 20.0) == named


@needs_libp2p
async def test_a_stranger_over_libp2p_gets_our_card_and_nothing_else(tmp_path: Path) -> None:
    async with (
        bridged() as (bridge, notes),
        node(KITCHEN_LETTER, tmp_path, bridge.answer) as kitchen,
        node(STRANGER_LETTER, tmp_path) as stranger,
    ):
        # Garage is trusted, but its card does not make the stranger Garage.
        theirs = await stranger.ask(kitchen, CARD_PROTOCOL, signed(GARAGE_LETTER))
        assert read_card(theirs, now=time.time(), certificate_hash=None).peer_id == KITCHEN.peer_id
        call = b'{"id":1,"method":"tools/call","params":{"name":"notes__add"}}'
        assert "PEER_NOT_TRUSTED" in json.loads(await stranger.ask(kitchen, MCP_PROTOCOL, call))["error"]["message"]

    assert (bridge.cards, notes.calls) == ({}, [])


@needs_libp2p
async def test_whoever_answers_with_another_key_is_not_spoken_to(tmp_path: Path) -> None:
    heard: list[str] = []

    async def hear(peer: str, _: str, __: bytes) -> bytes:
        heard.append(peer)
        return b"{}"

    async with node(STRANGER_LETTER, tmp_path, hear) as stranger, node(GARAGE_LETTER, tmp_path) as garage:
        claimed = stranger.address.replace(stranger.peer_id, KITCHEN.peer_id)
        with pytest.raises(ServerConnectionError):
            await garage.process.connect(KITCHEN.peer_id, [claimed], 10.0)

    assert heard == []


_PLAINTEXT = """
import sys, trio
from libp2p import new_host
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.peer.peerinfo import info_from_p2p_addr
from libp2p.security.insecure.transport import PLAINTEXT_PROTOCOL_ID, InsecureTransport
from libp2p.security.noise.transport import PROTOCOL_ID as NOISE, Transport as Noise
from libp2p.crypto.x25519 import create_new_key_pair as noise_keys
from multiaddr import Multiaddr

async def main():
    keys = create_new_key_pair(b"p" * 32)
    ways = {
        "plain": {PLAINTEXT_PROTOCOL_ID: InsecureTransport(keys)},
        "noise": {NOISE: Noise(keys, noise_privkey=noise_keys().private_key)},
    }
    host = new_host(key_pair=keys, sec_opt=ways[sys.argv[2]])
    async with host.run(listen_addrs=[]):
        with trio.fail_after(20):
            info = info_from_p2p_addr(Multiaddr(sys.argv[1]))
            await host.connect(info)
            stream = await host.new_stream(info.peer_id, ["/praxis/card/1.0.0"])
            await stream.write(b"{}\\n")
            print("got", (await stream.read(100)).decode(), flush=True)

trio.run(main)
"""


async def other_program(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(60):
        told, _ = await process.communicate()
    return told.decode()


async def test_plaintext_is_refused(libp2p_python: str, tmp_path: Path) -> None:
    async with node(KITCHEN_LETTER, tmp_path, named_kitchen) as kitchen:
        assert "got" in await other_program(libp2p_python, "-c", _PLAINTEXT, kitchen.address, "noise")
        assert "got" not in await other_program(libp2p_python, "-c", _PLAINTEXT, kitchen.address, "plain")


@needs_libp2p
async def test_idle_connections_do_not_keep_a_peer_out_of_libp2p(tmp_path: Path) -> None:
    async with node(KITCHEN_LETTER, tmp_path, named_kitchen) as kitchen, node(GARAGE_LETTER, tmp_path) as garage:
        port = int(kitchen.address.split("/")[4])
        with ExitStack() as idle:
            for _ in range(1_000):
                idle.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            assert await garage.ask(kitchen, CARD_PROTOCOL, b"{}") == b'{"name":"kitchen"}'


@needs_libp2p
async def test_a_line_that_is_too_long_ends_its_stream_and_nothing_else(tmp_path: Path) -> None:
    async with node(KITCHEN_LETTER, tmp_path) as kitchen, node(GARAGE_LETTER, tmp_path) as garage:
        with pytest.raises(ServerConnectionError):
            await garage.ask(kitchen, MCP_PROTOCOL, b'"' + b"x" * 2_000_000 + b'"', 15.0)
        assert await garage.ask(kitchen, MCP_PROTOCOL, b"{}") == b"{}"


@needs_libp2p
async def test_a_long_answer_comes_through_and_a_card_of_that_size_harms_nobody(tmp_path: Path) -> None:
    size = 3 * 1024 * 1024

    async def answer(_: str, __: str, ___: bytes) -> bytes:
        return b"\x01" * size  # between the processes each of these is six characters

    async with node(KITCHEN_LETTER, tmp_path, answer) as kitchen, node(GARAGE_LETTER, tmp_path) as garage:
        assert len(await garage.ask(kitchen, MCP_PROTOCOL, b"{}", 60.0)) == size
        with pytest.raises(ServerConnectionError):
            await garage.ask(kitchen, CARD_PROTOCOL, b"{}", 60.0)
        size = 3
        assert await garage.ask(kitchen, MCP_PROTOCOL, b"{}") == b"\x01" * 3


@needs_libp2p
async def test_nodes_find_each_other_by_multicast(multicast: None, tmp_path: Path) -> None:
    async with (
        node(KITCHEN_LETTER, tmp_path, mdns=True) as kitchen,
        node(GARAGE_LETTER, tmp_path, mdns=True) as garage,
    ):
        await until(lambda: kitchen.found and garage.found)
        assert garage.found[0] == (kitchen.peer_id, (kitchen.address,), "libp2p")
        assert {peer for peer, *_ in kitchen.found} == {garage.peer_id}


@needs_libp2p
async def test_a_rendezvous_in_the_dht_finds_a_peer(tmp_path: Path) -> None:
    async with node(STRANGER_LETTER, tmp_path, dht=True, rendezvous="elsewhere") as meeting_point:
        met = {"dht": True, "bootstrap": (meeting_point.address,), "rendezvous": "praxis-agents"}
        async with (
            node(KITCHEN_LETTER, tmp_path, named_kitchen, **met) as kitchen,
            node(GARAGE_LETTER, tmp_path, **met) as garage,
        ):
            await until(lambda: any(peer == kitchen.peer_id for peer, *_ in garage.found), 60)
            _, addresses, by = next(one for one in garage.found if one[0] == kitchen.peer_id)
            assert (addresses, by) == ((kitchen.address,), "dht")
            assert await garage.ask(kitchen, CARD_PROTOCOL, b"{}") == b'{"name":"kitchen"}'


@needs_libp2p
async def test_a_node_that_was_killed_is_started_again_with_its_card(tmp_path: Path) -> None:
    async with node(KITCHEN_LETTER, tmp_path, named_kitchen) as kitchen, node(GARAGE_LETTER, tmp_path) as garage:
        assert kitchen.process.pid is not None
        os.kill(kitchen.process.pid, signal.SIGKILL)
        await until(lambda: not kitchen.process.ready.is_set())
        await until(kitchen.process.ready.is_set)
        assert await garage.ask(kitchen, CARD_PROTOCOL, b"{}") == b'{"name":"kitchen"}'


@needs_libp2p
async def test_a_peer_that_was_killed_is_told_to_be_gone(tmp_path: Path) -> None:
    async with node(KITCHEN_LETTER, tmp_path) as kitchen, node(GARAGE_LETTER, tmp_path) as garage:
        await garage.ask(kitchen, MCP_PROTOCOL, b"{}")
        assert kitchen.process.pid is not None
        os.kill(kitchen.process.pid, signal.SIGKILL)
        await until(lambda: kitchen.peer_id in garage.gone, 40)


def broken_node(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> Libp2pProcess:
    """A node whose libp2p is this code."""
    for module in ("libp2p", "trio"):
        (folder / f"{module}.py").write_text(code)
    source = Path(__file__).resolve().parents[2] / "src"
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{source}")
    settings = NodeSettings(listen=())
    return Libp2pProcess(settings, b"m" * 32, nobody, on_found=lambda *_: None, log_file=folder / "node.log")


async def test_a_node_that_ends_is_started_again_five_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(libp2p_process, "WAITS", (0.01, 0.02, 0.03, 0.04, 0.05))
    process = broken_node(tmp_path, monkeypatch, "import os, sys; print('ended', file=sys.stderr); os._exit(1)")
    async with asyncio.timeout(60):
        await process.run()

    waits = [one.partition("again in ")[2] for one in caplog.messages if "started again in" in one]
    assert waits == ["0.01 s", "0.02 s", "0.03 s", "0.04 s", "0.05 s"]
    assert "is not started again" in caplog.messages[-1]
    assert (tmp_path / "node.log").read_text().count("ended") == 6


async def test_a_python_that_is_not_there_is_tried_five_times_and_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(libp2p_process, "WAITS", (0.01, 0.01, 0.01, 0.01, 0.01))
    process = Libp2pProcess(NodeSettings(listen=()), b"m" * 32, nobody, lambda *_: None, python="/no/such/python")
    await process.run()

    assert sum("could not be started" in one for one in caplog.messages) == 6


async def test_a_node_that_crashes_tells_neither_its_key_nor_what_looks_like_one(
    libp2p_python: str, tmp_path: Path
) -> None:
    key, log_file = "6b" * 32, tmp_path / "node.log"
    start = {"kind": "start", "key": key, "listen": [["127.0.0.1", f"{key} \x1b[31m ghp_{'a1' * 18}"]]}
    with log_file.open("wb") as errors:
        node = await asyncio.create_subprocess_exec(
            libp2p_python, "-m", "toolcrib.libp2p_node", stdin=asyncio.subprocess.PIPE, stderr=errors
        )
        async with asyncio.timeout(60):
            await node.communicate(json.dumps(start).encode() + b"\n")

    told = log_file.read_text("utf-8")
    assert "TypeError" in told
    assert key not in told
    assert "ghp_" not in told
    assert "\x1b" not in told


_ENGINE = """
import asyncio, sys
from pathlib import Path
from tests.peers.libp2p_nodes import node
from toolcrib.lan import libp2p_process

libp2p_process.PYTHON = sys.argv[2]

async def main():
    async with node("k", Path(sys.argv[1])) as kitchen:
        print(kitchen.process.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_node_ends_with_the_engine_that_was_killed(libp2p_python: str, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    engine = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _ENGINE,
        str(tmp_path),
        libp2p_python,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
    )
    try:
        assert engine.stdout is not None
        async with asyncio.timeout(60):
            pid = int(await engine.stdout.readline())
        assert _runs(pid)
    finally:
        engine.kill()
        await engine.wait()
    await until(lambda: not _runs(pid))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
