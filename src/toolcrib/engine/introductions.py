"""What a peer says about others: addresses to look at, and nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from toolcrib.model.peer import PeerAddress, Sighting
from toolcrib.model.peer_address import written_address
from toolcrib.model.peer_id import is_peer_id
from toolcrib.peers.addresses import MOST_ADDRESSES, OwnAddress, introduced

MOST_INTRODUCED = 64


class _Introduced(msgspec.Struct):
    peer_id: str = msgspec.field(name="peerId")
    addresses: list[str] = []


class _Introductions(msgspec.Struct):
    peers: list[_Introduced]


def introductions_in(body: bytes, own: Sequence[OwnAddress]) -> list[Sighting]:
    """Those that can be looked at; what can't be read introduces nobody."""
    try:
        told = msgspec.json.decode(body, type=_Introductions).peers[:MOST_INTRODUCED]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    found = [(one.peer_id, tuple(_addresses(one, own))) for one in told if is_peer_id(one.peer_id)]
    return [Sighting(peer_id, addresses, "bootstrap") for peer_id, addresses in found if addresses]


def _addresses(one: _Introduced, own: Sequence[OwnAddress]) -> Iterator[PeerAddress]:
    for text in one.addresses[:MOST_ADDRESSES]:
        try:
            place = written_address(text)
        except ValueError:
            continue
        yield from introduced([place.host], place.port, own)
