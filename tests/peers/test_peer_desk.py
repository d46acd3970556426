"""When the desk looks at whom: by a clock that the test moves, at peers that the test invents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fakes import Clock
from toolcrib.catalog.catalog import Catalog
from toolcrib.config.settings import Settings
from toolcrib.engine.own_card import OwnCard
from toolcrib.engine.peer_desk import PeerDesk
from toolcrib.errors import ServerConnectionError
from toolcrib.model.peer import KnownPeer, PeerAddress, Sighting
from toolcrib.peers.book import BookChanges
from toolcrib.peers.card import own_card, signed_card
from toolcrib.peers.certificate import certificate_hash, kept_certificate
from toolcrib.peers.identity import Identity
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.storage.memory_peers import MemoryPeers
from toolcrib.upstream.peer_http import Looked, PeerHttp, PeerProof
from toolcrib.workspace.catalog_view import CatalogView

PLACE = PeerAddress("192.0.2.7", 8666)


class Far(PeerHttp):
    """Machines that answer, or do not, and how often each was asked."""

    def __init__(self, clock: Clock, folder: Path) -> None:
        super().__init__(user_agent="test", max_bytes=lambda: 262_144)
        self._clock = clock
        self.identity = Identity.kept_at(folder / "far.key")
        self.certificate = kept_certificate(folder / "far.pem", self.identity.peer_id)
        self.is_there = True
        self.is_closed = False
        self.looks: list[float] = []
        self.given: list[bytes] = []

    async def look(self, address: PeerAddress, etag: str, seconds: float) -> Looked:
        self.looks.append(self._clock())
        if self.is_closed or not self.is_there:
            raise ServerConnectionError("nobody answers", server=str(address))
        card = own_card(
            self.identity,
            name="far",
            version="1",
            definitions=[],
            port=address.port,
            tls=certificate_hash(self.certificate),
            now=self._clock(),
        )
        return Looked(self.certificate, None if etag == card.etag else signed_card(card, self.identity))

    async def hand_over(
        self, address: PeerAddress, certificate: bytes, proof: PeerProof, card: bytes, seconds: float
    ) -> None:
        self.given.append(card)


class Streams:
    """The same machine over libp2p, where it is reached in no other way."""

    addresses = ("/ip4/192.0.2.1/tcp/4001",)

    def __init__(self, far: Far, clock: Clock) -> None:
        self._far = far
        self._clock = clock
        self.asked: list[float] = []

    async def exchange(self, peer: KnownPeer) -> tuple[bytes, str]:
        self.asked.append(self._clock())
        if not self._far.is_there:
            raise ServerConnectionError("nobody answers", server=peer.server)
        card = own_card(
            self._far.identity,
            name="far",
            version="1",
            definitions=[],
            port=PLACE.port if peer.addresses else 0,
            tls=certificate_hash(self._far.certificate),
            now=self._clock(),
        )
        return signed_card(card, self._far.identity), peer.multiaddrs[0]


class Notebook:
    """Fulfils `PeerRecord` in memory."""

    def __init__(self) -> None:
        self.store = MemoryPeers()
        self.new: list[str] = []
        self.gone: list[str] = []

    def rows(self) -> Sequence[KnownPeer]:
        return self.store.peers()

    async def follow(self) -> None:
        return

    async def write(self, changes: BookChanges) -> bool:
        self.store.drop_seen(changes.dropped)
        self.store.save_peers(changes.saved)
        return True

    async def found(self, peer: KnownPeer) -> None:
        self.new.append(peer.server)

    async def left(self, peer: KnownPeer) -> None:
        self.gone.append(peer.server)


class Office:
    """A desk with all around it; `pass_time` lets seconds pass one by one."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.clock = Clock(1_800_000_000.0)
        self.far = Far(self.clock, folder)
        self.notebook = Notebook()
        identity = Identity.kept_at(folder / "own.key")
        certificate = kept_certificate(folder / "own.pem", identity.peer_id)
        card = OwnCard(
            identity,
            CatalogView(Catalog(MemoryCatalog(), now=self.clock)),
            name=lambda: "own",
            patterns=tuple,
            certificate_hash=certificate_hash(certificate),
            now=self.clock,
        )
        self.desk = PeerDesk(
            identity,
            certificate,
            card,
            self.notebook,
            self.far,
            settings=lambda: settings,
            own_addresses=tuple,
            now=self.clock,
        )

    def speak_libp2p(self) -> Streams:
        streams = Streams(self.far, self.clock)
        self.desk.use_streams(streams)
        return streams

    @property
    def known(self) -> KnownPeer:
        (peer,) = self.notebook.rows()
        return peer

    def announce(self) -> None:
        self.desk.seen(Sighting(self.far.identity.peer_id, (PLACE,), "mdns"))

    async def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            await self.desk.tick()
            await self.desk.settle()
            self.clock.advance(1)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path, replace(Settings(), peers_enabled=True))


async def test_peers_are_checked_every_ten_seconds(office: Office) -> None:
    office.announce()
    await office.pass_time(35)

    started = office.far.looks[0]
    assert [at - started for at in office.far.looks] == [0, 10, 20, 30]
    assert office.notebook.new == ["peer-far"]


async def test_a_peer_is_given_our_card_once(office: Office) -> None:
    office.announce()
    await office.pass_time(35)

    assert len(office.far.given) == 1


async def test_a_peer_that_does_not_answer_is_tried_after_1_2_3_4_5_seconds_and_then_at_the_usual_times(
    office: Office,
) -> None:
    office.announce()
    await office.pass_time(1)
    office.far.is_there = False
    await office.pass_time(40)

    missed = office.far.looks[1:]
    assert [after - before for before, after in pairwise(missed)] == [1, 2, 3, 4, 5, 10]
    assert office.notebook.gone == ["peer-far"]
    assert office.known.away_since == missed[0]


async def test_one_that_was_only_announced_is_asked_less_and_less(office: Office) -> None:
    office.far.is_there = False
    office.announce()
    await office.pass_time(700)

    assert [after - before for before, after in pairwise(office.far.looks)] == [1, 10, 60, 600]


async def test_unseen_for_five_minutes_a_peer_has_no_tools_until_it_comes_back(office: Office) -> None:
    office.announce()
    await office.pass_time(1)
    office.far.is_there = False
    await office.pass_time(290)
    assert office.known.card is not None

    await office.pass_time(30)
    assert office.known.card is None

    office.far.is_there = True
    await office.pass_time(11)
    assert office.known.card is not None
    assert office.known.away_since is None


async def test_a_peer_without_https_is_checked_by_exchanging_cards_over_libp2p(office: Office) -> None:
    streams = office.speak_libp2p()
    office.desk.seen(Sighting(office.far.identity.peer_id, (), "libp2p", multiaddrs=("/ip4/192.0.2.7/tcp/4001",)))
    await office.pass_time(35)
    started = streams.asked[0]
    assert [at - started for at in streams.asked] == [0, 10, 20, 30]
    assert (office.notebook.new, office.far.looks) == (["peer-far"], [])

    office.far.is_there = False
    await office.pass_time(30)
    missed = streams.asked[4:]
    assert [after - before for before, after in pairwise(missed)][:5] == [1, 2, 3, 4, 5]
    assert (office.notebook.gone, office.known.away_since) == (["peer-far"], missed[0])

    await office.pass_time(300)
    assert office.known.card is None
    office.far.is_there = True
    await office.pass_time(11)
    assert office.known.card is not None
    assert office.known.away_since is None


async def test_cards_that_cross_each_other_are_no_reason_to_refuse_a_peer(office: Office) -> None:
    streams, peer_id = office.speak_libp2p(), office.far.identity.peer_id
    multiaddrs = ("/ip4/192.0.2.7/tcp/4001",)
    office.desk.seen(Sighting(peer_id, (), "libp2p", multiaddrs=multiaddrs))
    await office.pass_time(1)
    sent_before, _ = await streams.exchange(office.known)
    office.clock.advance(2)
    sent_after, _ = await streams.exchange(office.known)
    await office.desk.take_streamed(peer_id, sent_after)
    await office.desk.take_streamed(peer_id, sent_before)

    latest = office.desk.peer(peer_id)
    assert latest is not None
    assert latest.card is not None
    assert (latest.card.timestamp, latest.trouble) == (int(office.clock()), "")


async def test_addresses_that_are_said_in_turn_cost_no_looks(office: Office) -> None:
    office.announce()
    await office.pass_time(1)
    for last in range(20):
        office.desk.seen(Sighting(office.far.identity.peer_id, (PeerAddress(f"192.0.2.{100 + last % 6}", 1),), "mdns"))
        await office.pass_time(1)

    assert len(office.far.looks) == 3


async def test_a_peer_that_left_libp2p_is_looked_at_at_once(office: Office) -> None:
    streams = office.speak_libp2p()
    office.desk.seen(Sighting(office.far.identity.peer_id, (), "libp2p", multiaddrs=("/ip4/192.0.2.7/tcp/4001",)))
    await office.pass_time(3)
    office.far.is_there = False
    office.desk.doubt(office.far.identity.peer_id)
    await office.pass_time(1)

    assert len(streams.asked) == 2
    assert office.known.away_since is not None


async def test_without_libp2p_a_peer_that_is_only_there_is_neither_asked_nor_away(office: Office) -> None:
    office.desk.seen(Sighting(office.far.identity.peer_id, (), "libp2p", multiaddrs=("/ip4/192.0.2.7/tcp/4001",)))
    await office.pass_time(30)

    assert office.far.looks == []
    assert office.notebook.rows() == []
    streams = office.speak_libp2p()
    await office.pass_time(1)
    assert len(streams.asked) == 1


async def test_over_https_first_and_over_libp2p_where_nobody_answers(office: Office) -> None:
    streams = office.speak_libp2p()
    both = Sighting(office.far.identity.peer_id, (PLACE,), "mdns", multiaddrs=("/ip4/192.0.2.7/tcp/4001",))
    office.desk.seen(both)
    await office.pass_time(11)
    assert (len(office.far.looks), streams.asked) == (2, [])
    certificate = office.known.certificate

    office.far.is_closed = True
    await office.pass_time(10)
    assert (len(office.far.looks), len(streams.asked)) == (3, 1)
    assert office.known.away_since is None
    # Its card names the same key: as soon as HTTPS is there again, it is used.
    assert office.known.certificate == certificate


async def test_a_flood_of_announcements_of_one_peer_costs_one_look_a_second(office: Office) -> None:
    for port in range(2_000, 2_050):
        office.desk.seen(Sighting(office.far.identity.peer_id, (PeerAddress("192.0.2.7", port),), "mdns", f"{port}"))
    await office.pass_time(2)

    assert len(office.far.looks) <= 2
