"""What is made of peers that libp2p found, with the real book; the node is real where libp2p is installed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.peers.cards import GARAGE, KITCHEN, STRANGER, card_of
from tests.peers.libp2p_nodes import Node, needs_libp2p, nobody, node, until
from toolcrib.engine.libp2p_peers import Libp2pPeers
from toolcrib.errors import PeerRefused
from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL, Libp2pProcess, NodeSettings
from toolcrib.model.peer import Sighting
from toolcrib.peers.addresses import OwnAddress, own_addresses
from toolcrib.peers.book import BookLimits, PeerBook
from toolcrib.peers.card import read_card, signed_card
from toolcrib.peers.identity import Identity

NEIGHBOUR = "/ip4/10.0.0.7/tcp/4001"


class SilentProcess(Libp2pProcess):
    """A node that notes who was asked where, and gives everybody's card."""

    def __init__(self, cards: dict[str, bytes]) -> None:
        super().__init__(NodeSettings(listen=()), b"k" * 32, nobody, lambda *_: None)
        self.cards = cards
        self.asked: list[tuple[str, str, tuple[str, ...]]] = []

    async def ask(
        self, peer_id: str, protocol: str, body: bytes, seconds: float, addresses: Sequence[str] = ()
    ) -> bytes:
        self.asked.append((peer_id, protocol, tuple(addresses)))
        return self.cards.get(peer_id, b"{}")


class Machine:
    """A book, and what libp2p brings into it."""

    def __init__(self, process: Libp2pProcess, identity: Identity, own: Sequence[str] = ("10.0.0.5/24",)) -> None:
        self.identity = identity
        self.book = PeerBook(identity.peer_id, BookLimits(most=8, stale_seconds=300, check_seconds=10))
        self._own: Sequence[OwnAddress] = own_addresses(own)
        self.peers = Libp2pPeers(
            process,
            see=self._see,
            take_card=self.take_card,
            own_card=lambda: signed(identity),
            own_addresses=lambda: self._own,
        )

    def _see(self, sighting: Sighting) -> bool:
        return self.book.see(sighting, time.time()) is not None

    async def take_card(self, peer_id: str, body: bytes) -> None:
        now = time.time()
        card = read_card(body, now=now, certificate_hash=None, own_id=self.identity.peer_id)
        if card.peer_id != peer_id:
            raise PeerRefused("the card is somebody else's", reason="signature")
        self.book.see(Sighting(peer_id, (), "card"), now)
        self.book.take_card(peer_id, card, b"", None, now)

    @property
    def names(self) -> list[str]:
        return [peer.title for peer in self.book.all() if peer.card is not None]


def signed(identity: Identity) -> bytes:
    name = {KITCHEN.peer_id: "kitchen", GARAGE.peer_id: "garage"}.get(identity.peer_id, "stranger")
    return signed_card(card_of(identity, name, now=time.time()), identity)


async def settled(machine: Machine) -> None:
    async with asyncio.timeout(10):
        while machine.peers._exchanging:  # noqa: ASYNC110 - the tasks end by themselves
            await asyncio.sleep(0)


async def test_a_neighbour_that_was_found_is_asked_for_its_card() -> None:
    process = SilentProcess({GARAGE.peer_id: signed(GARAGE)})
    machine = Machine(process, KITCHEN)
    machine.peers.found(GARAGE.peer_id, (f"{NEIGHBOUR}/p2p/{GARAGE.peer_id}",), "libp2p")
    await settled(machine)

    assert process.asked == [(GARAGE.peer_id, CARD_PROTOCOL, (f"{NEIGHBOUR}/p2p/{GARAGE.peer_id}",))]
    assert machine.names == ["garage"]
    assert [(peer.by, peer.trust) for peer in machine.book.all()] == [("libp2p", "seen")]


@pytest.mark.parametrize(
    ("address", "by", "is_asked"),
    [
        ("/ip4/10.0.0.7/tcp/4001", "libp2p", True),
        ("/ip4/10.0.0.5/tcp/4001", "libp2p", False),
        ("/ip4/127.0.0.1/tcp/4001", "libp2p", False),
        ("/ip4/169.254.169.254/tcp/4001", "libp2p", False),
        ("/ip4/192.168.1.1/tcp/4001", "libp2p", False),
        ("/ip4/10.0.0.7/tcp/22", "libp2p", False),
        ("/ip4/1.1.1.1/tcp/4001", "libp2p", False),
        ("/ip4/1.1.1.1/tcp/4001", "dht", True),
        ("/ip4/192.168.1.1/tcp/4001", "dht", False),
        ("/dns4/router.local/tcp/4001", "libp2p", False),
        ("/dns4/router.local/tcp/4001", "dht", False),
        ("/dns4/kitchen.example/tcp/4001", "static", True),
        ("/ip4/192.168.1.1/tcp/4001", "static", True),
        (f"/ip4/10.0.0.7/tcp/4001/p2p/{STRANGER.peer_id}", "libp2p", False),
    ],
)
async def test_only_addresses_that_may_be_named_so_are_connected_to(address: str, by: str, is_asked: bool) -> None:
    process = SilentProcess({GARAGE.peer_id: signed(GARAGE)})
    machine = Machine(process, KITCHEN)
    machine.peers.found(GARAGE.peer_id, (address,), by)
    await settled(machine)

    assert bool(process.asked) is is_asked


async def test_our_own_announcement_over_libp2p_is_ignored() -> None:
    process = SilentProcess({})
    machine = Machine(process, KITCHEN)
    machine.peers.found(KITCHEN.peer_id, (NEIGHBOUR,), "libp2p")
    await settled(machine)

    assert (process.asked, machine.book.all()) == ([], [])


async def test_somebody_elses_card_is_not_taken() -> None:
    machine = Machine(SilentProcess({GARAGE.peer_id: signed(STRANGER)}), KITCHEN)
    machine.peers.found(GARAGE.peer_id, (NEIGHBOUR,), "libp2p")
    await settled(machine)

    assert machine.names == []


async def test_our_new_card_goes_to_everybody_whom_we_reach() -> None:
    process = SilentProcess({GARAGE.peer_id: signed(GARAGE), STRANGER.peer_id: signed(STRANGER)})
    machine = Machine(process, KITCHEN)
    for peer in (GARAGE, STRANGER):
        machine.peers.found(peer.peer_id, (NEIGHBOUR,), "libp2p")
    await settled(machine)
    process.asked.clear()
    await machine.peers.tell_all()
    await settled(machine)

    assert {peer for peer, *_ in process.asked} == {GARAGE.peer_id, STRANGER.peer_id}


async def test_a_link_is_opened_only_to_a_peer_that_was_found() -> None:
    process = SilentProcess({GARAGE.peer_id: b'{"id":7,"result":{"tools":[]}}'})
    machine = Machine(process, KITCHEN)
    assert machine.peers.open_link("peer-garage", GARAGE.peer_id) is None
    machine.peers.found(GARAGE.peer_id, (NEIGHBOUR,), "libp2p")
    link = machine.peers.open_link("peer-garage", GARAGE.peer_id)
    assert link is not None
    assert await link.request(7, "tools/list", b"{}", {}) == b'{"tools":[]}'
    assert process.asked[-1] == (GARAGE.peer_id, MCP_PROTOCOL, (NEIGHBOUR,))
    await machine.peers.close()


@needs_libp2p
@pytest.mark.timeout(150)
async def test_two_machines_find_each_other_over_libp2p_and_exchange_cards(tmp_path: Path) -> None:
    machines: dict[str, Machine] = {}

    async def take(who: str, peer_id: str, protocol: str, body: bytes) -> bytes:
        assert protocol == CARD_PROTOCOL
        await machines[who].take_card(peer_id, body)
        return b"{}"

    async def at_kitchen(peer_id: str, protocol: str, body: bytes) -> bytes:
        return await take("kitchen", peer_id, protocol, body)

    async def at_garage(peer_id: str, protocol: str, body: bytes) -> bytes:
        return await take("garage", peer_id, protocol, body)

    async with node("k", tmp_path, at_kitchen) as kitchen, node("g", tmp_path, at_garage, mdns=True) as garage:
        for name, one in (("kitchen", kitchen), ("garage", garage)):
            machines[name] = _machine(one)
            await machines[name].peers.tell_all()
        async with node("n", tmp_path, mdns=True):  # a third one, which only makes noise
            await kitchen.process.dial(garage.address)
            await until(lambda: machines["kitchen"].names == ["garage"] and machines["garage"].names == ["kitchen"])
        for machine in machines.values():
            await machine.peers.close()


def _machine(one: Node) -> Machine:
    return Machine(one.process, one.identity, own=("127.0.0.1/8",))
