"""The one who looks for peers: takes sightings and cards, checks who is there, and tells the others who we are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from toolcrib.config.settings import Settings
from toolcrib.engine.introductions import MOST_INTRODUCED
from toolcrib.engine.kept_book import KeptBook, PeerRecord
from toolcrib.engine.own_card import OwnCard, SignedCard
from toolcrib.engine.peer_complaints import PeerComplaints
from toolcrib.engine.peer_courtesies import PeerCourtesies
from toolcrib.engine.peer_looks import PeerLooks, Standing
from toolcrib.engine.peer_round import LOOK_SECONDS, CardStreams, Met, Rules, check, exchanged, meet, proved
from toolcrib.engine.written_peers import WrittenPeers
from toolcrib.errors import PeerRefused, ServerConnectionError
from toolcrib.model.peer import AgentCard, FoundBy, KnownPeer, PeerAddress, Sighting
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.peers.addresses import OwnAddress, came_from
from toolcrib.peers.book import BookLimits, PeerBook
from toolcrib.peers.certificate import certificate_hash
from toolcrib.peers.identity import Identity
from toolcrib.upstream.peer_http import PeerHttp

TICK_SECONDS = 1.0


class PeerDesk:
    """Knows who is around. Belongs to the event loop; `run` looks, and everything else answers at once."""

    def __init__(
        self,
        identity: Identity,
        certificate: bytes,
        own_card: OwnCard,
        record: PeerRecord,
        http: PeerHttp,
        *,
        settings: Callable[[], Settings],
        own_addresses: Callable[[], Sequence[OwnAddress]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.peer_id = identity.peer_id
        self.certificate_hash = certificate_hash(certificate)
        self._own_card = own_card
        self._http = http
        self._settings = settings
        self._own_addresses = own_addresses
        self._now = now
        self._book = PeerBook(identity.peer_id, _limits(settings()))
        self._kept = KeptBook(self._book, record)
        self._written = WrittenPeers()
        self._courtesies = PeerCourtesies(identity, http, now)
        self._complaints = PeerComplaints()
        self._posted: set[str] = set()
        # The way to peers over libp2p, while there is one.
        self.streams: CardStreams | None = None
        self._own_etag = ""
        self._woken = asyncio.Event()
        self._looks = PeerLooks(self._woken.set)

    # -- what the port and the finders ask

    def card(self) -> SignedCard:
        """Our card, signed a moment ago."""
        return self._own_card.signed()

    def exposed(self) -> Mapping[str, VisibleTool]:
        """The tools that trusted peers may use, by their names for peers."""
        return self._own_card.exposed()

    def peer(self, peer_id: str) -> KnownPeer | None:
        return self._book.get(peer_id)

    def introductions(self) -> list[KnownPeer]:
        """Those that we tell others of: they left a card here, and are there."""
        stale, now = self._settings().peers_stale_after_seconds, self._now()
        known = [peer for peer in self._book.all() if peer.peer_id in self._posted and peer.trust != "blocked"]
        return [peer for peer in known if peer.addresses and not peer.is_stale(now, stale)][:MOST_INTRODUCED]

    def seen(self, sighting: Sighting) -> None:
        """Somebody says that a peer is there; it is looked at as soon as it may be."""
        if self._book.see(sighting, self._now()) is not None:
            self._woken.set()

    async def take_posted(self, body: bytes, caller_id: str, host: str) -> None:
        """A peer left its card here, from this address; it is asked for it there before anything of it is used."""
        known = self._book.get(caller_id)
        card = proved(body, caller_id, self._rules(), known).card
        addresses = came_from(host, card.port, self._own_addresses())
        self._welcome(Sighting(caller_id, addresses, "card", card.etag))
        self._posted = {peer.peer_id for peer in self._book.all() if peer.peer_id in self._posted} | {caller_id}
        if not card.port:
            await self._take_card_of_caller(card, known)
        self._woken.set()

    async def _take_card_of_caller(self, card: AgentCard, known: KnownPeer | None) -> None:
        """One that does not listen can't be asked for its card; what it offers is kept where it is reached over libp2p."""
        is_reached = known is not None and known.multiaddrs
        kept = card if is_reached else replace(card, definitions=(), tool_count=0)
        try:
            is_taken = self._book.take_card(card.peer_id, kept, b"", None, self._now()) is not None
        except PeerRefused as refusal:
            self._complaints.tell(_named(self._book.get(card.peer_id)), refusal, self._now(), is_stranger=True)
            raise
        if is_taken and _is_news(known, kept):
            await self._kept.has_new_card(card.peer_id)

    async def take_streamed(self, peer_id: str, body: bytes) -> None:
        """A peer gave us its card over a stream that proves who it is; raises PeerRefused."""
        met = exchanged(body, peer_id, self._rules(), self._book.get(peer_id))
        self._welcome(Sighting(peer_id, (), "libp2p"))
        await self._met(met)
        self._woken.set()

    def doubt(self, peer_id: str) -> None:
        """A peer was there a moment ago, and may have left: look at once."""
        self._book.doubt(peer_id, self._now())
        self._woken.set()

    def use_streams(self, streams: CardStreams | None) -> None:
        """Reach peers over libp2p from now on, or no longer; those that are known are looked at."""
        self.streams = streams
        for peer in self._book.all():
            if peer.multiaddrs:
                self.doubt(peer.peer_id)

    def configure(self) -> None:
        """Let other settings hold from now on."""
        self._book.configure(_limits(self._settings()))
        self._woken.set()

    # -- looking

    async def run(self) -> None:
        """Look for as long as this runs."""
        try:
            while True:
                self._woken.clear()
                await self.tick()
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_SECONDS):
                        await self._woken.wait()
        finally:
            await self._looks.close()

    async def tick(self) -> None:
        """Start what is due, and write down what has changed."""
        await self._kept.follow()
        now = self._now()
        self._look_at_written(now)
        for peer in self._book.due(now):
            self._look_at(peer)
        if self._own_card.current().etag != self._own_etag:
            self._own_etag = self._own_card.current().etag
            self._tell_all()
        self._book.withdraw_stale(now)
        await self._kept.write()

    async def settle(self) -> None:
        """Wait until every look that was started has ended, and what came of it is written down."""
        await self._looks.settle()
        await self._kept.write()

    def _welcome(self, sighting: Sighting) -> None:
        if self._book.see(sighting, self._now()) is None:
            raise PeerRefused("this machine does not want to know you", reason="refused")

    def _look_at(self, peer: KnownPeer) -> None:
        if peer.addresses or (peer.multiaddrs and self.streams is not None):
            self._looks.start(peer.peer_id, self._check(peer.peer_id), self._standing(peer))

    def _standing(self, peer: KnownPeer) -> Standing:
        if peer.is_there:
            return "there"
        return "visitor" if peer.peer_id in self._posted else "hearsay"

    def _tell_all(self) -> None:
        """Ours is another card now: whoever is looked at gets it."""
        for peer in self._book.all():
            if peer.is_there and peer.trust != "blocked":
                self._look_at(peer)

    def _look_at_written(self, now: float) -> None:
        """Addresses that a person wrote: known peers there are checked as all are, others are asked who they are."""
        settings = self._settings()
        self._written.configure(settings.peers_static, settings.peers_bootstrap)
        for sighting in self._written.named:
            self._book.see(sighting, now)
        for one in self._written.entries:
            if not self._is_known(one.address) and self._written.is_due(
                one, now, settings.peers_check_interval_seconds
            ):
                self._looks.start_at_once(str(one.address), self._meet(one.address, one.by))

    def _is_known(self, address: PeerAddress) -> bool:
        return any(peer.addresses[:1] == (address,) for peer in self._book.all())

    async def _check(self, peer_id: str) -> None:
        peer = self._book.get(peer_id)
        if peer is None:
            return
        try:
            met = await check(self._http, peer, self._rules(), self.streams)
        except PeerRefused as refusal:
            self._book.refused(peer_id, refusal.message, self._now())
            self._complaints.tell(_named(peer), refusal, self._now(), is_stranger=not peer.is_trusted)
        except ServerConnectionError:
            self._book.missed(peer_id, self._now())
            self._courtesies.forget(peer_id)
            if peer.is_there:
                await self._kept.left(peer)
        else:
            await self._met(met)

    async def _meet(self, address: PeerAddress, by: FoundBy) -> None:
        """Whoever is at an address that a person wrote."""
        try:
            met = await meet(self._http, address, self._rules())
        except PeerRefused as refusal:
            self._complaints.tell(str(address), refusal, self._now(), is_stranger=False)
            return
        if self._book.see(Sighting(met.card.peer_id, (address,), by), self._now()) is not None:
            await self._met(met)

    async def _met(self, met: Met) -> None:
        peer_id = met.card.peer_id
        before = self._book.get(peer_id)
        try:
            peer = self._book.take_card(
                peer_id, met.card, met.certificate, met.address, self._now(), multiaddr=met.multiaddr
            )
        except PeerRefused as refusal:
            self._complaints.tell(_named(before), refusal, self._now(), is_stranger=True)
            return
        if peer is None:
            return
        if before is not None and met.address is not None and _has_moved(before, met.address):
            self._kept.moved(before, met.address)
        if _is_news(before, met.card):
            await self._kept.has_new_card(peer_id)
        await self._courtesies.tell(
            met, self.card(), again_after_seconds=self._settings().peers_stale_after_seconds / 2
        )
        if self._written.introduces(met.address):
            for sighting in await self._courtesies.others_known_to(met, self._own_addresses()):
                self.seen(sighting)

    def _rules(self) -> Rules:
        return Rules(self._now(), LOOK_SECONDS, self._settings().peers_max_card_bytes, self.peer_id)


def _named(peer: KnownPeer | None) -> str:
    return f"{peer.server} ({peer.peer_id})" if peer is not None else "a peer"


def _has_moved(before: KnownPeer, address: PeerAddress) -> bool:
    return before.is_there and before.addresses[:1] != (address,)


def _is_news(before: KnownPeer | None, card: AgentCard) -> bool:
    """Whether it says something that was not known; of one that could not be reached no tools were kept."""
    if before is None or before.card is None:
        return True
    return before.card.etag != card.etag or before.card.tool_count < card.tool_count


def _limits(settings: Settings) -> BookLimits:
    return BookLimits(
        most=settings.peers_max_peers,
        stale_seconds=settings.peers_stale_after_seconds,
        check_seconds=settings.peers_check_interval_seconds,
        only_known=settings.peers_trust == "pinned",
    )
