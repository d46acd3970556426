"""A neighbour that wants too much: connections, announcements, and addresses to send us to."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.peers.hand_made import HandMadePeer, announced, looked_at, only_named, speaking
from tests.peers.host_machines import HostMachine, Neighbourhood, comes_true, meet, succeeds
from tests.peers.netns import Host
from tests.peers.test_dns_sd import NONSENSE
from toolcrib.model.peer import PeerAddress
from toolcrib.peers.certificate import any_certificate
from toolcrib.peers.identity import Identity

pytestmark = pytest.mark.timeout(150)


@asynccontextmanager
async def held_connections(place: Host, machine: HostMachine, plain: int, secured: int) -> AsyncIterator[None]:
    """So many connections from one host that say nothing, some of them after their handshake."""
    loop, to = asyncio.get_running_loop(), (str(machine.address.host), machine.port)
    with ExitStack() as held:
        with place.entered():
            idle = [held.enter_context(socket.socket()) for _ in range(plain + secured)]
        for one in idle:
            one.setblocking(False)
            await loop.sock_connect(one, to)
        context = any_certificate()
        for one in idle[plain:]:
            one.setblocking(True)
            one.settimeout(5)
            try:
                held.enter_context(await asyncio.to_thread(context.wrap_socket, one))
            except (OSError, ssl.SSLError):
                continue  # it was sent away meanwhile
        yield


async def test_a_thousand_idle_connections_keep_no_peer_out(network: Neighbourhood) -> None:
    study, place = network.with_desk("study"), network.host()
    study.wait_until_it_listens()
    async with held_connections(place, study, 1_000, 150):
        garden = network.machine("garden")
        await asyncio.to_thread(meet, study, garden)
        async with garden.agent() as agent:
            await comes_true(lambda: succeeds(agent, "peer-study", "desk__echo"), garden)


async def test_a_flood_of_announcements_costs_little_and_keeps_neither_old_nor_new_peers_out(
    network: Neighbourhood, tmp_path: Path
) -> None:
    kitchen, study, place = network.with_desk("kitchen"), network.machine("study"), network.host()
    meet(kitchen, study)
    before = study.most_memory_bytes
    first = HandMadePeer("first", tmp_path / "neighbour")
    ids = [Identity(secrets.token_bytes(32)).peer_id for _ in range(1_000)]
    # Nobody is there, and nobody says so: a look at each takes as long as it may.
    nowhere = [PeerAddress(f"10.77.0.{100 + number % 100}", 2_000 + number) for number in range(1_000)]
    with place.entered():
        async with first.listening(place.address), speaking(place.address) as speaker:
            await speaker.announce(first.announcement())
            await looked_at([first], 1, lambda: study.log, speaker=speaker)
            await speaker.send(*(only_named(f"nobody{number}{NONSENSE[number % 4]}") for number in range(100)))
            await speaker.send(*(only_named(f"nobody{number}") for number in range(300)))
            await speaker.announce(*map(announced, ids, nowhere))
    garden = network.machine("garden")
    study.comes_to(garden="waiting", kitchen="trusted")
    garden.comes_to(study="waiting")

    assert set(study.peers()) == {"peer-first", "peer-kitchen", "peer-garden"}
    assert study.most_memory_bytes - before < 48 * 1024 * 1024
    assert study.log.count("\n") < 200
    async with study.agent() as agent:
        assert await succeeds(agent, "peer-kitchen", "desk__echo")


async def test_large_cards_of_many_ids_that_change_at_every_look_take_little_memory(
    network: Neighbourhood, tmp_path: Path
) -> None:
    study, place, folder = network.machine("study"), network.host(), tmp_path / "neighbour"
    study.wait_until_it_listens()
    crowd = [HandMadePeer(f"crowd{number}", folder) for number in range(60)]
    tools = [{"name": f"tool{number}", "description": "x" * 1_000, "parameters": {}} for number in range(190)]
    for peer in crowd:
        peer.body = lambda peer=peer: peer.card(*tools, version=f"{peer.looks}")  # type: ignore[misc]
    before = study.most_memory_bytes
    with place.entered():
        async with AsyncExitStack() as opened:
            for peer in crowd:
                await opened.enter_async_context(peer.listening(place.address))
            speaker = await opened.enter_async_context(speaking(place.address))
            await speaker.announce(*(peer.announcement() for peer in crowd))
            await looked_at(crowd, 1, lambda: study.log, speaker=speaker)
            garden = network.machine("garden")
            await asyncio.to_thread(study.comes_to, garden="waiting")

    assert sum(peer.card is not None for peer in study.peers().values()) <= 4
    assert study.most_memory_bytes - before < 64 * 1024 * 1024
    assert "is refused: there is no room" in study.log
    assert garden.states()["peer-study"] == "waiting"


TRAP = 7_777


@asynccontextmanager
async def trap(place: Host) -> AsyncIterator[list[str]]:
    """The addresses of a host at which somebody connected to a port that nobody should."""
    reached: list[str] = []

    async def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(writer.get_extra_info("sockname")[0].removeprefix("::ffff:"))
        writer.close()

    with place.entered():
        listening = socket.create_server(("", TRAP), family=socket.AF_INET6, dualstack_ipv6=True)
    server = await asyncio.start_server(note, sock=listening)
    async with server:
        yield reached


async def test_a_bootstrap_node_sends_us_only_to_neighbours(network: Neighbourhood, tmp_path: Path) -> None:
    place, home, folder = network.host(), network.host(), tmp_path / "neighbour"
    node, honest = HandMadePeer("node", folder), HandMadePeer("honest", folder)
    foreign = ["169.254.169.254", "169.254.7.7", "10.99.0.5", "192.168.3.4", "100.64.0.9"]
    for address in foreign:
        place.ip("address", "add", f"{address}/32", "dev", "eth0")
    # Whatever is not on this network goes to the neighbour, who has all of these addresses.
    home.ip("route", "add", "default", "via", place.address)
    with place.entered():
        async with (
            node.listening(place.address),
            honest.listening(place.address),
            trap(place) as there,
            trap(home) as here,
        ):
            hosts = (*foreign, "127.0.0.1", "0.0.0.0", home.address, "[::1]", "[::ffff:127.0.0.1]", "localhost")
            named = [f"{host}:{TRAP}" for host in hosts]
            peers = [{"peerId": Identity(secrets.token_bytes(32)).peer_id, "addresses": [one]} for one in named]
            known = {"peerId": honest.peer_id, "addresses": [str(honest.address)]}
            node.others["/agent/peers"] = json.dumps({"peers": [*peers, known]}).encode()
            study = network.machine("study", host=home, peers={"bootstrap": [str(node.address)], "mdns": False})
            await looked_at([honest], 3, lambda: study.log)
            assert (there, here) == ([], [])

            sprung = home.run(sys.executable, "-c", f"import socket; socket.create_connection(('10.99.0.5', {TRAP}))")
            await asyncio.sleep(0)
            assert (sprung.returncode, sprung.stderr) == (0, "")

    assert set(study.states()) == {"peer-node", "peer-honest"}
