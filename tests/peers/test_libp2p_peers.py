"""What is told of peers that libp2p found, and how they are asked; with a node that answers what the test says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.peers.cards import GARAGE, STRANGER, known_peer
from tests.peers.libp2p_nodes import nobody
from toolcrib.engine.libp2p_peers import Libp2pPeers
from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL, Libp2pProcess, NodeSettings
from toolcrib.model.peer import Sighting
from toolcrib.peers.addresses import own_addresses

NEIGHBOUR = "/ip4/10.0.0.7/tcp/4001"


class SilentProcess(Libp2pProcess):
    """A node that notes who was asked where, and gives everybody's card."""

    def __init__(self, cards: dict[str, bytes]) -> None:
        super().__init__(NodeSettings(listen=()), b"k" * 32, nobody, lambda *_: None)
        self.cards = cards
        self.asked: list[tuple[str, ...]] = []

    async def connect(self, peer_id: str, addresses: Sequence[str], seconds: float) -> str:
        self.asked.append((peer_id, *addresses))
        return addresses[-1]

    async def ask(self, peer_id: str, protocol: str, body: bytes, seconds: float) -> bytes:
        self.asked.append((peer_id, protocol))
        return self.cards.get(peer_id, b"{}")


class Machine:
    """What libp2p finds, on a machine with one network."""

    def __init__(self, process: Libp2pProcess) -> None:
        self.seen: list[Sighting] = []
        self.peers = Libp2pPeers(
            process,
            seen=self.seen.append,
            own_card=lambda: b"{}",
            own_addresses=lambda: own_addresses(["10.0.0.5/24"]),
        )


async def test_a_neighbour_that_was_found_is_told_of_with_its_address() -> None:
    machine = Machine(SilentProcess({}))
    machine.peers.found(GARAGE.peer_id, (f"{NEIGHBOUR}/p2p/{GARAGE.peer_id}",), "libp2p")

    assert machine.seen == [Sighting(GARAGE.peer_id, (), "libp2p", multiaddrs=(f"{NEIGHBOUR}/p2p/{GARAGE.peer_id}",))]


@pytest.mark.parametrize(
    ("address", "by", "is_told"),
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
        (f"/ip4/10.0.0.7/tcp/4001/p2p/{STRANGER.peer_id}", "libp2p", False),
    ],
)
async def test_only_addresses_that_may_be_named_so_are_told_of(address: str, by: str, is_told: bool) -> None:
    machine = Machine(SilentProcess({}))
    machine.peers.found(GARAGE.peer_id, (address,), by)

    assert bool(machine.seen) is is_told


async def test_cards_are_exchanged_where_the_peer_answers() -> None:
    process = SilentProcess({GARAGE.peer_id: b"its card"})
    peer = known_peer(GARAGE, multiaddrs=("/ip4/10.0.0.7/tcp/4001", "/ip4/10.0.0.7/tcp/4002"))

    assert await Machine(process).peers.exchange(peer) == (b"its card", "/ip4/10.0.0.7/tcp/4002")
    assert process.asked == [(GARAGE.peer_id, *peer.multiaddrs), (GARAGE.peer_id, CARD_PROTOCOL)]


async def test_a_link_is_to_a_peer_that_is_connected() -> None:
    process = SilentProcess({GARAGE.peer_id: b'{"id":7,"result":{"tools":[]}}'})
    link = await Machine(process).peers.open_link("peer-garage", known_peer(GARAGE, multiaddrs=(NEIGHBOUR,)))

    assert await link.request(7, "tools/list", b"{}", {}) == b'{"tools":[]}'
    assert process.asked == [(GARAGE.peer_id, NEIGHBOUR), (GARAGE.peer_id, MCP_PROTOCOL)]
