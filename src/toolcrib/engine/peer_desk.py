"""The one who looks for peers: takes sightings and cards, checks who is there, and tells the others who we are."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, Protocol

from toolcrib.config.settings import Settings
from toolcrib.engine.introductions import MOST_INTRODUCED, introductions_in
from toolcrib.engine.own_card import OwnCard, SignedCard
from toolcrib.engine.peer_round import Met, Rules, check, meet
from toolcrib.engine.written_peers import WrittenPeers
from toolcrib.errors import PeerRefused, ServerConnectionError, ToolcribError
from toolcrib.model.peer import AgentCard, FoundBy, KnownPeer, PeerAddress, Sighting
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.peers.addresses import OwnAddress, nearby
from toolcrib.peers.book import BookChanges, BookLimits, PeerBook
from toolcrib.peers.card import read_card
from toolcrib.peers.certificate import certificate_hash
from toolcrib.peers.identity import Identity
from toolcrib.upstream.peer_http import PeerHttp, PeerProof

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
LOOK_SECONDS = 5.0
# How many peers are looked at at once: those that are there, those that came here, and those of whom somebody else spoke.
MOST_LOOKS = 8
MOST_DOUBTFUL_LOOKS = 4
# How often a bootstrap node is asked for others.
ASK_SECONDS = 60.0
COMPLAINT_SECONDS = 3600.0
# How many strangers may be complained about in that time: anybody can be as many as they like.
MOST_COMPLAINTS = 20
_HTTPS_PORT = 443
_LOWEST_PORT = 1024


class PeerRecord(Protocol):
    """Where peers are written down, and what follows from that."""

    async def write(self, changes: BookChanges) -> bool:
        """Keep what was seen, so that `rows` has it, and what others decided meanwhile; whether that could be done."""

    def rows(self) -> Sequence[KnownPeer]:
        """All peers as they are written down now."""

    async def follow(self) -> None:
        """Take over what persons decided since."""

    async def found(self, peer: KnownPeer) -> None:
        """A peer sent a card that was not known: ask a person, where one has to decide."""

    async def left(self, peer: KnownPeer) -> None:
        """A peer that was there does not answer."""


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
        self._identity = identity
        self.peer_id = identity.peer_id
        self.certificate_hash = certificate_hash(certificate)
        self._own_card = own_card
        self._record = record
        self._http = http
        self._settings = settings
        self._own_addresses = own_addresses
        self._now = now
        self._book = PeerBook(identity.peer_id, _limits(settings()))
        self._written = WrittenPeers()
        self._posted: set[str] = set()
        # By peer, which of our cards it was given last, and when.
        self._told: dict[str, tuple[str, float]] = {}
        # When each bootstrap node was asked for others, and when each refusal was told.
        self._asked: dict[str, float] = {}
        self._complained: dict[str, float] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(MOST_LOOKS)
        self._visitor_slots = asyncio.Semaphore(MOST_DOUBTFUL_LOOKS)
        self._doubtful_slots = asyncio.Semaphore(MOST_DOUBTFUL_LOOKS)
        self._own_etag = ""
        self._writing = asyncio.Lock()
        self._woken = asyncio.Event()

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
        now = self._now()
        known = self._book.get(caller_id)
        card = read_card(
            body,
            now=now,
            certificate_hash=None,
            newer_than=known.card.timestamp if known is not None and known.card is not None else 0,
            max_bytes=self._settings().peers_max_card_bytes,
            own_id=self.peer_id,
        )
        if card.peer_id != caller_id:
            raise PeerRefused("the card is somebody else's", reason="signature")
        addresses = self._source(host, card.port)
        if self._book.see(Sighting(caller_id, addresses, "card", card.etag), now) is None:
            raise PeerRefused("this machine does not want to know you", reason="refused")
        self._posted = {peer.peer_id for peer in self._book.all() if peer.peer_id in self._posted} | {caller_id}
        if not card.port and self._take_card(caller_id, card, now) is not None:
            await self._has_card(caller_id, is_new=known is None or known.card is None or known.card.etag != card.etag)
        self._woken.set()

    def _take_card(self, caller_id: str, card: AgentCard, now: float) -> KnownPeer | None:
        """The card of one that only calls, and so can't be asked for it; nobody can use what it offers."""
        try:
            return self._book.take_card(caller_id, replace(card, definitions=(), tool_count=0), b"", None, now)
        except PeerRefused as refusal:
            self._complain(_named(self._book.get(caller_id)), refusal, is_stranger=True)
            raise

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
                # Not `wait_for`: until Python 3.12 it loses a cancel that comes at the same moment as what is waited for.
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_SECONDS):
                        await self._woken.wait()
        finally:
            looking = list(self._looking.values())
            for task in looking:
                task.cancel()
            await asyncio.gather(*looking, return_exceptions=True)

    async def tick(self) -> None:
        """Start what is due, and write down what has changed."""
        await self._record.follow()
        now = self._now()
        self._book.load(self._record.rows())
        self._look_at_written(now)
        for peer in self._book.due(now):
            self._look_at(peer)
        if self._own_card.current().etag != self._own_etag:
            self._own_etag = self._own_card.current().etag
            self._tell_all()
        self._book.withdraw_stale(now)
        await self._write()

    async def settle(self) -> None:
        """Wait until every look that was started has ended, and what came of it is written down."""
        while self._looking:
            await asyncio.wait(set(self._looking.values()))
        await self._write()

    def _look_at(self, peer: KnownPeer) -> None:
        if peer.addresses:
            self._start(peer.peer_id, self._check(peer.peer_id), self._slots_for(peer))

    def _slots_for(self, peer: KnownPeer) -> asyncio.Semaphore:
        """So that no number of announcements of nobody holds up those that are there, or that come themselves."""
        if _is_there(peer):
            return self._slots
        return self._visitor_slots if peer.peer_id in self._posted else self._doubtful_slots

    def _tell_all(self) -> None:
        """Ours is another card now: whoever is looked at gets it."""
        for peer in self._book.all():
            if _is_there(peer) and peer.trust != "blocked":
                self._look_at(peer)

    def _look_at_written(self, now: float) -> None:
        """Addresses that a person wrote: known peers there are checked as all are, others are asked who they are."""
        settings = self._settings()
        self._written.configure(settings.peers_static, settings.peers_bootstrap)
        for one in self._written.entries:
            if one.peer_id:
                self._book.see(Sighting(one.peer_id, (one.address,), one.by), now)
            elif not self._is_known(one.address) and self._written.is_due(
                one, now, settings.peers_check_interval_seconds
            ):
                self._start(str(one.address), self._meet(one.address, one.by), None)

    def _is_known(self, address: PeerAddress) -> bool:
        return any(peer.addresses[:1] == (address,) for peer in self._book.all())

    def _start(self, key: str, work: Coroutine[Any, Any, None], slots: asyncio.Semaphore | None) -> None:
        """Look now, or when one of the slots is free; what a person wrote needs none."""
        if key in self._looking:
            work.close()
            return
        task = asyncio.create_task(self._in_turn(work, slots))
        self._looking[key] = task
        task.add_done_callback(lambda _: self._ended(key))

    def _ended(self, key: str) -> None:
        self._looking.pop(key, None)
        self._woken.set()

    async def _in_turn(self, work: Coroutine[Any, Any, None], slots: asyncio.Semaphore | None) -> None:
        try:
            async with slots or nullcontext():
                await work
        except ToolcribError as problem:
            log.debug("a look at a peer failed: %s", problem.message)
        except Exception:
            log.exception("a look at a peer failed unexpectedly")
        finally:
            work.close()

    async def _check(self, peer_id: str) -> None:
        peer = self._book.get(peer_id)
        if peer is None or not peer.addresses:
            return
        try:
            met = await check(self._http, peer, self._rules())
        except PeerRefused as refusal:
            self._refuse(peer, refusal)
        except ServerConnectionError:
            self._book.missed(peer_id, self._now())
            self._told.pop(peer_id, None)
            if _is_there(peer):
                await self._record.left(peer)
        else:
            await self._met(met)

    async def _meet(self, address: PeerAddress, by: FoundBy) -> None:
        """Whoever is at an address that a person wrote."""
        try:
            met = await meet(self._http, address, self._rules())
        except PeerRefused as refusal:
            self._complain(str(address), refusal, is_stranger=False)
            return
        if self._book.see(Sighting(met.card.peer_id, (address,), by), self._now()) is not None:
            await self._met(met)

    async def _met(self, met: Met) -> None:
        peer_id = met.card.peer_id
        before = self._book.get(peer_id)
        try:
            peer = self._book.take_card(peer_id, met.card, met.certificate, met.address, self._now())
        except PeerRefused as refusal:
            self._complain(_named(before), refusal, is_stranger=True)
            return
        if peer is not None:
            if before is not None and _is_there(before) and met.address != before.addresses[0]:
                await self._record.left(before)  # it has moved: who is connected goes on at the new place
            is_new = before is None or before.card is None or before.card.etag != met.card.etag
            await self._has_card(peer_id, is_new=is_new)
            await self._tell(peer, met)
            await self._ask_for_others(peer, met)

    async def _ask_for_others(self, peer: KnownPeer, met: Met) -> None:
        """Hear of more peers from one that a person wrote down for that."""
        now = self._now()
        is_recent = 0 <= now - self._asked.get(peer.peer_id, -ASK_SECONDS) < ASK_SECONDS
        if is_recent or not self._written.introduces(met.address):
            return
        proof = PeerProof(self._identity, peer.peer_id, met.card.tls, self._now)
        told = await self._http.introduced(met.address, met.certificate, proof, LOOK_SECONDS)
        if told is not None:
            self._asked[peer.peer_id] = now
            for sighting in introductions_in(told, self._own_addresses()):
                self.seen(sighting)

    async def _has_card(self, peer_id: str, *, is_new: bool) -> None:
        """Let a person decide about a card that was not known; first it is written down."""
        if is_new:
            await self._write()
            if (peer := self._book.get(peer_id)) is not None:
                await self._record.found(peer)
            self._book.load(self._record.rows())

    async def _write(self) -> None:
        async with self._writing:
            changes = self._book.changes()
            if (changes.saved or changes.dropped) and await self._record.write(changes):
                self._book.written(changes)
                self._book.load(self._record.rows())

    async def _tell(self, peer: KnownPeer, met: Met) -> None:
        """Give a peer our card, where it has another one, or may have forgotten it."""
        own, now = self.card(), self._now()
        etag, told_at = self._told.get(peer.peer_id, ("", 0.0))
        if etag == own.etag and 0 <= now - told_at < self._settings().peers_stale_after_seconds / 2:
            return
        self._told[peer.peer_id] = own.etag, now
        proof = PeerProof(self._identity, peer.peer_id, met.card.tls, self._now)
        try:
            await self._http.hand_over(met.address, met.certificate, proof, own.body, LOOK_SECONDS)
        except (PeerRefused, ServerConnectionError) as problem:
            log.debug("%s did not take our card: %s", peer.server, problem.message)

    def _refuse(self, peer: KnownPeer, refusal: PeerRefused) -> None:
        self._book.refused(peer.peer_id, refusal.message, self._now())
        self._complain(_named(peer), refusal, is_stranger=not peer.is_trusted)

    def _complain(self, who: str, refusal: PeerRefused, *, is_stranger: bool) -> None:
        """Say loudly that somebody is not who they should be, once an hour for each."""
        now = self._now()
        recent = {key: at for key, at in self._complained.items() if now - at < COMPLAINT_SECONDS}
        is_too_much = is_stranger and len(recent) >= MOST_COMPLAINTS
        if who not in recent and refusal.reason != "ourselves" and not is_too_much:
            log.warning("%s is refused: %s", who, refusal.message)
            recent[who] = now
        self._complained = recent

    def _rules(self) -> Rules:
        return Rules(self._now(), LOOK_SECONDS, self._settings().peers_max_card_bytes, self.peer_id)

    def _source(self, host: str, port: int) -> tuple[PeerAddress, ...]:
        """Where a peer that came from `host` can be asked; never this machine itself, unless a person chose that."""
        near = nearby([host], port, self._own_addresses())
        if near or not (port == _HTTPS_PORT or port >= _LOWEST_PORT):
            return near
        try:
            is_here = ipaddress.ip_address(host.partition("%")[0]).is_loopback
        except ValueError:
            return ()
        return () if is_here else (PeerAddress(host, port),)


def _named(peer: KnownPeer | None) -> str:
    return f"{peer.server} ({peer.peer_id})" if peer is not None else "a peer"


def _is_there(peer: KnownPeer) -> bool:
    return peer.seen_at is not None and peer.away_since is None


def _limits(settings: Settings) -> BookLimits:
    return BookLimits(
        most=settings.peers_max_peers,
        stale_seconds=settings.peers_stale_after_seconds,
        check_seconds=settings.peers_check_interval_seconds,
        only_known=settings.peers_trust == "pinned",
    )
