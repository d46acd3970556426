"""Who is known: sightings merged, names given, impostors refused, and never more than there is room for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolcrib.errors import PeerRefused
from toolcrib.model.peer import AgentCard, KnownPeer, PeerAddress, Sighting
from toolcrib.model.peer_id import is_peer_id
from toolcrib.peers.addresses import MOST_ADDRESSES
from toolcrib.peers.card_room import CardRoom, host_of
from toolcrib.peers.checks import Checks
from toolcrib.peers.names import name_for, unnamed, whose_name
from toolcrib.peers.whereabouts import met_at, said_to_be_at

# How much later than written a peer may really have been seen, as a share of the time after which it is stale: a peer that
# answers every check is not written down every time.
_UNWRITTEN_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class BookLimits:
    """How many peers are remembered, when one is stale, and whether unknown ones are looked at at all."""

    most: int = 256
    stale_seconds: float = 300.0
    check_seconds: float = 10.0
    only_known: bool = False


@dataclass(frozen=True, slots=True)
class BookChanges:
    """What the store does not have yet: peers to save, and ids of those that made room."""

    saved: tuple[KnownPeer, ...] = ()
    dropped: tuple[str, ...] = ()


class PeerBook:
    """All known peers; belongs to one task, and knows no clock and no disk.

    Trust comes from the store alone (`load`): nothing that a peer does or says changes it here.
    """

    def __init__(self, own_id: str, limits: BookLimits | None = None) -> None:
        self._own_id = own_id
        self._limits = limits or BookLimits()
        self._peers: dict[str, KnownPeer] = {}
        self._stored: dict[str, KnownPeer] = {}
        self._changed: set[str] = set()
        self._dropped: set[str] = set()
        self._checks = Checks(self._limits.check_seconds)
        self._room = CardRoom()

    def configure(self, limits: BookLimits) -> None:
        self._limits = limits
        self._checks.configure(limits.check_seconds)

    def load(self, stored: Iterable[KnownPeer]) -> None:
        """Take over what is stored: all peers at first, later what persons decided and whom they forgot."""
        # Without tools, which are looked into elsewhere: here they would only fill the memory.
        now_stored = {peer.peer_id: peer.brief() for peer in stored if self._is_wanted(peer)}
        for peer_id in self._stored.keys() - now_stored.keys():
            self._remove(peer_id)
        for peer_id, row in now_stored.items():
            mine = self._peers.get(peer_id, row)
            self._peers[peer_id] = replace(mine, trust=row.trust, pins=row.pins, server=_server(mine, row))
        self._stored = now_stored

    # -- looking

    def get(self, peer_id: str) -> KnownPeer | None:
        return self._peers.get(peer_id)

    def all(self) -> list[KnownPeer]:
        return sorted(self._peers.values(), key=lambda peer: peer.server)

    def due(self, now: float) -> list[KnownPeer]:
        """The peers to ask now whether they are there; each is asked again only after its time."""
        wanted = [peer for peer in self.all() if peer.trust != "blocked" and self._checks.is_due(peer.peer_id, now)]
        for peer in wanted:
            self._checks.started(peer.peer_id, now)
        return wanted

    # -- what happens

    def see(self, sighting: Sighting, now: float) -> KnownPeer | None:
        """Somebody says that a peer is there; None where that is of no interest: ourselves, blocked, or no room."""
        if sighting.peer_id == self._own_id or not is_peer_id(sighting.peer_id):
            return None
        known = self._peers.get(sighting.peer_id)
        if known is None:
            return self._entered(sighting, now)
        if known.trust == "blocked":
            return None
        merged = said_to_be_at(known, sighting)
        # One that answers is asked at its usual times, wherever else it is said to be: two who say so in turn change nothing.
        is_looked_for = merged != known and not known.is_there
        self._keep(merged)
        if is_looked_for or not _has_heard(known, sighting.hint):
            self._checks.soon(sighting.peer_id, now)
        return merged

    def take_card(
        self,
        peer_id: str,
        card: AgentCard,
        certificate: bytes,
        address: PeerAddress | None,
        now: float,
        *,
        multiaddr: str = "",
    ) -> KnownPeer | None:
        """A peer sent its card from one of these addresses; PeerRefused where it claims the name of a trusted one.

        So is a stranger's where too much of strangers is kept already.
        """
        peer = self._peers.get(peer_id)
        if peer is None or peer.trust == "blocked":
            return None
        self._refuse_impostor(peer, card, now)
        self._refuse_crowd(met_at(peer, address, multiaddr), card, now)
        is_named = peer.seen_at is not None or peer.is_trusted
        server = peer.server if is_named else name_for(peer, card.name, self._is_taken)
        seen = replace(
            met_at(peer, address, multiaddr),
            server=server,
            title=card.name,
            card=_newest(card, peer.card),
            certificate=certificate,
            seen_at=now,
            away_since=None,
            trouble="",
        )
        self._checks.answered(peer_id, now)
        self._keep(seen)
        return seen

    def doubt(self, peer_id: str, now: float) -> None:
        """Something speaks for it that a peer has left: ask as soon as it may be asked."""
        if peer_id in self._peers:
            self._checks.soon(peer_id, now)

    def missed(self, peer_id: str, now: float) -> None:
        """A peer did not answer."""
        peer = self._peers.get(peer_id)
        if peer is not None:
            self._checks.failed(peer_id, now, is_hearsay=_is_hearsay(peer))
            self._keep(replace(peer, away_since=now if peer.away_since is None else peer.away_since))

    def refused(self, peer_id: str, why: str, now: float) -> None:
        """What answered in a peer's place is not to be believed; what was known of it stays."""
        peer = self._peers.get(peer_id)
        if peer is not None:
            self._checks.failed(peer_id, now)
            self._keep(replace(peer, trouble=why))

    def withdraw_stale(self, now: float) -> list[KnownPeer]:
        """Drop the cards of peers that did not answer for too long; those that had one."""
        gone = [peer for peer in self.all() if peer.card is not None and self._is_stale(peer, now)]
        for peer in gone:
            self._keep(replace(peer, card=None))
        return gone

    def changes(self) -> BookChanges:
        """What is to be written now; a peer that never answered and has no trouble is not worth a row."""
        changed = [self._peers[peer_id] for peer_id in sorted(self._changed) if peer_id in self._peers]
        worth = tuple(peer for peer in changed if peer.seen_at is not None or peer.trouble)
        return BookChanges(worth, tuple(sorted(self._dropped)))

    def written(self, changes: BookChanges) -> None:
        """These changes are in the store now; what happened meanwhile is still to be written."""
        self._dropped.difference_update(changes.dropped)
        for written in changes.saved:
            peer = self._peers.get(written.peer_id)
            if peer is not None:
                self._stored[written.peer_id] = written.brief()
                self._changed.discard(written.peer_id)
                self._keep(peer)

    # -- inside

    def _is_wanted(self, row: KnownPeer) -> bool:
        is_on_its_way_out = row.peer_id in self._dropped and row.trust == "seen"
        return row.peer_id != self._own_id and not is_on_its_way_out

    def _entered(self, sighting: Sighting, now: float) -> KnownPeer | None:
        if self._limits.only_known or not self._has_room():
            return None
        peer_id = sighting.peer_id
        peer = KnownPeer(
            peer_id=peer_id,
            server=unnamed(peer_id, self._is_taken),
            title="",
            by=sighting.by,
            found_at=now,
            addresses=sighting.addresses[:MOST_ADDRESSES],
            multiaddrs=sighting.multiaddrs[:MOST_ADDRESSES],
        )
        self._peers[peer_id] = peer
        self._dropped.discard(peer_id)
        self._checks.soon(peer_id, now)
        return peer

    def _has_room(self) -> bool:
        if len(self._peers) < self._limits.most:
            return True
        undecided = [peer for peer in self._peers.values() if peer.trust == "seen"]
        if not undecided:
            return False
        # Those that never answered go first: announcing many names must not cost the place of one that is there.
        oldest = min(undecided, key=lambda peer: (peer.seen_at is not None, peer.seen_at or peer.found_at))
        self._remove(oldest.peer_id)
        self._dropped.add(oldest.peer_id)
        return True

    def _remove(self, peer_id: str) -> None:
        self._peers.pop(peer_id, None)
        self._stored.pop(peer_id, None)
        self._changed.discard(peer_id)
        self._checks.forget(peer_id)

    def _keep(self, peer: KnownPeer) -> None:
        written = self._stored.get(peer.peer_id)
        if written is None or self._is_worth_writing(written, peer):
            self._changed.add(peer.peer_id)
        # The tools of a card are held only until they are written down.
        self._peers[peer.peer_id] = peer if peer.peer_id in self._changed else peer.brief()

    def _is_worth_writing(self, written: KnownPeer, peer: KnownPeer) -> bool:
        later = (peer.seen_at or 0.0) - (written.seen_at or 0.0)
        same = replace(peer.brief(), seen_at=written.seen_at, trust=written.trust, pins=written.pins) == written
        return not same or later > self._limits.stale_seconds * _UNWRITTEN_SHARE

    def _is_stale(self, peer: KnownPeer, now: float) -> bool:
        return peer.is_stale(now, self._limits.stale_seconds)

    def _refuse_impostor(self, peer: KnownPeer, card: AgentCard, now: float) -> None:
        if peer.is_trusted:
            return  # a person trusts both, under whatever name
        other = whose_name(card.name, self._peers.values())
        if other is None:
            return
        why = f"it claims the name of {other.title or other.server} ({other.peer_id})"
        self.refused(peer.peer_id, why, now)
        raise PeerRefused(
            why,
            reason="impostor",
            hint=f"If that machine has a new key, forget the old one: `toolcrib peers forget {other.server}`. "
            "If they are two machines, give one another name (`peers.name`).",
        )

    def _refuse_crowd(self, peer: KnownPeer, card: AgentCard, now: float) -> None:
        if peer.is_trusted or (peer.card is not None and peer.card.etag == card.etag):
            return
        others = [one for one in self._peers.values() if one.trust == "seen" and one.peer_id != peer.peer_id]
        try:
            self._room.check(card, host_of(peer), others)
        except PeerRefused as refusal:
            self._checks.failed(peer.peer_id, now, is_hearsay=True)
            self._keep(replace(peer, trouble=refusal.message))
            raise

    def _is_taken(self, name: str) -> bool:
        return any(peer.server.lower() == name.lower() for peer in self._peers.values())


def _server(mine: KnownPeer, row: KnownPeer) -> str:
    """The name of a peer that was decided about is the stored one; of others ours may be newer."""
    return row.server if row.trust != "seen" or mine.seen_at is None else mine.server


def _newest(card: AgentCard, known: AgentCard | None) -> AgentCard | None:
    """The card that came; a brief one only says that the known one still holds, unless that has changed meanwhile."""
    is_another = known is None or known.etag != card.etag
    return known if card.definitions is None and is_another else card


def _is_hearsay(peer: KnownPeer) -> bool:
    """Whether others only spoke of it; what a person wrote down is more than that."""
    return peer.seen_at is None and peer.trust == "seen" and peer.by != "static"


def _has_heard(known: KnownPeer, hint: str) -> bool:
    return not hint or (known.card is not None and known.card.etag.startswith(hint))
