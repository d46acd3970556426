"""Where a peer is: what others say about it, and where it answered, in the order in which it is tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from toolcrib.model.peer import KnownPeer, PeerAddress, Sighting
from toolcrib.peers.addresses import MOST_ADDRESSES

_Place = TypeVar("_Place")


def said_to_be_at(known: KnownPeer, sighting: Sighting) -> KnownPeer:
    """New places before old ones, but behind the one at which it answered: anybody can announce others."""
    return replace(
        known,
        addresses=_merged(known, known.addresses, sighting.addresses),
        multiaddrs=_merged(known, known.multiaddrs, sighting.multiaddrs),
    )


def met_at(known: KnownPeer, address: PeerAddress | None, multiaddr: str) -> KnownPeer:
    """Where it answered comes first, whatever others say about where it is."""
    return replace(
        known,
        addresses=_first(known.addresses, (address,) if address is not None else ()),
        multiaddrs=_first(known.multiaddrs, (multiaddr,) if multiaddr else ()),
    )


def _merged(known: KnownPeer, old: Sequence[_Place], new: Sequence[_Place]) -> tuple[_Place, ...]:
    proved = old[:1] if known.seen_at is not None else ()
    return tuple(dict.fromkeys((*proved, *new, *old)))[:MOST_ADDRESSES]


def _first(old: Sequence[_Place], new: Sequence[_Place]) -> tuple[_Place, ...]:
    return tuple(dict.fromkeys((*new, *old)))[:MOST_ADDRESSES]
