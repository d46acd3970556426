"""One look at one peer: is it there, is it the one it should be, and what does it say of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from toolcrib.errors import PeerRefused, ServerConnectionError
from toolcrib.model.peer import AgentCard, KnownPeer, PeerAddress
from toolcrib.peers.card import read_card
from toolcrib.peers.certificate import certificate_hash
from toolcrib.upstream.peer_http import Looked

LOOK_SECONDS = 5.0


class CardStreams(Protocol):
    """Whoever exchanges cards with peers over a way that proves who they are."""

    @property
    def addresses(self) -> Sequence[str]:
        """Where peers reach us in this way."""

    async def exchange(self, peer: KnownPeer) -> tuple[bytes, str]:
        """Its card, and at which of its addresses it answered; raises ServerConnectionError."""


class CardReader(Protocol):
    """Whoever gets cards from addresses."""

    async def look(self, address: PeerAddress, etag: str, seconds: float) -> Looked: ...


@dataclass(frozen=True, slots=True)
class Met:
    """A peer answered: its card, the certificate (DER) that is known of it, and where it was met.

    `address` is None where that was not over HTTPS; `multiaddr` is the address for libp2p, where it was that.
    """

    card: AgentCard
    certificate: bytes
    address: PeerAddress | None
    multiaddr: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a look needs to know: the time, how long it may take, how large a card may be, and who we are."""

    now: float
    seconds: float
    max_card_bytes: int
    own_id: str


async def meet(reader: CardReader, address: PeerAddress, rules: Rules) -> Met:
    """Whoever is at this address; raises PeerRefused where that is not believed."""
    return _believed(await reader.look(address, "", rules.seconds), address, rules)


async def check(reader: CardReader, peer: KnownPeer, rules: Rules, streams: CardStreams | None = None) -> Met:
    """A peer that is known, at the first of its addresses where it answers; over HTTPS first.

    Raises PeerRefused where somebody else answers, and ServerConnectionError where nobody does.
    """
    refusal: PeerRefused | None = None
    trouble: ServerConnectionError | None = None
    for address in peer.addresses:
        try:
            return await _check_at(reader, address, peer, rules)
        except PeerRefused as problem:
            refusal = problem
        except ServerConnectionError as problem:
            trouble = problem
    if streams is not None and peer.multiaddrs:
        try:
            body, at = await streams.exchange(peer)
            return exchanged(body, peer.peer_id, rules, peer, multiaddr=at)
        except ServerConnectionError as problem:
            trouble = problem
    raise refusal or trouble or ServerConnectionError(f"{peer.server} has no address", server=peer.server)


def proved(body: bytes, peer_id: str, rules: Rules, before: KnownPeer | None) -> Met:
    """What a peer sent over a way that proved its id; raises PeerRefused where that is not its own card, or an old one."""
    card = _read(body, None, rules, before.card if before is not None else None)
    if card.peer_id != peer_id:
        raise PeerRefused("the card is somebody else's", reason="signature")
    return Met(card, _certificate_for(card, before), None)


def exchanged(body: bytes, peer_id: str, rules: Rules, before: KnownPeer | None, *, multiaddr: str = "") -> Met:
    """The same over a stream, where two exchanges may cross: the card that was signed later is the one that counts."""
    met = proved(body, peer_id, rules, replace(before, card=None) if before is not None else None)
    known = before.card if before is not None else None
    card = known if known is not None and known.timestamp > met.card.timestamp else met.card
    return Met(card, _certificate_for(card, before), None, multiaddr)


def _certificate_for(card: AgentCard, before: KnownPeer | None) -> bytes:
    """The certificate that is known of a peer, if it is still the one that its card names."""
    certificate = before.certificate if before is not None else b""
    return certificate if certificate and _hash_of(certificate) == card.tls else b""


async def _check_at(reader: CardReader, address: PeerAddress, peer: KnownPeer, rules: Rules) -> Met:
    looked = await reader.look(address, peer.card.etag if peer.card is not None else "", rules.seconds)
    if looked.body is None and peer.card is not None:
        if _hash_of(looked.certificate) != peer.card.tls:
            raise _wrong_certificate(address)
        return Met(peer.card, looked.certificate, address)
    met = _believed(looked, address, rules, peer.card)
    if met.card.peer_id != peer.peer_id:
        raise _another(address, met.card.peer_id)
    return met


def _believed(looked: Looked, address: PeerAddress, rules: Rules, before: AgentCard | None = None) -> Met:
    card = _read(looked.body or b"", _hash_of(looked.certificate), rules, before)
    return Met(card, looked.certificate, address)


def _read(body: bytes, certificate_hash: str | None, rules: Rules, before: AgentCard | None) -> AgentCard:
    return read_card(
        body,
        now=rules.now,
        certificate_hash=certificate_hash,
        newer_than=before.timestamp if before is not None else 0,
        max_bytes=rules.max_card_bytes,
        own_id=rules.own_id,
    )


def _hash_of(certificate: bytes) -> str:
    try:
        return certificate_hash(certificate)
    except ValueError:
        raise PeerRefused("its certificate can't be read", reason="certificate") from None


def _wrong_certificate(address: PeerAddress) -> PeerRefused:
    return PeerRefused(
        f"whoever answers at {address} has another certificate than its card names", reason="certificate"
    )


def _another(address: PeerAddress, peer_id: str) -> PeerRefused:
    return PeerRefused(f"{address} answers as another peer, {peer_id}", reason="impostor")
