"""Addresses as libp2p writes them: whose they are, and which of those that others name we connect to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from toolcrib.model.peer_id import is_peer_id
from toolcrib.peers.addresses import MOST_ADDRESSES, OwnAddress, introduced, nearby

_LITERAL = re.compile(r"/ip[46]/(?P<host>[0-9A-Fa-f.:]{2,45})/tcp/(?P<port>\d{1,5})(?:/p2p/(?P<id>\w{1,60}))?")


def peer_in(multiaddress: str) -> str:
    """The id of the peer that is at this address; empty where it names none, or one with another kind of key."""
    peer_id = multiaddress.rpartition("/p2p/")[2] if "/p2p/" in multiaddress else ""
    return peer_id if is_peer_id(peer_id) else ""


def usable_multiaddresses(
    texts: Iterable[str], peer_id: str, own: Sequence[OwnAddress], *, may_be_far: bool = False
) -> tuple[str, ...]:
    """Those of a peer that others may name: neighbours, and with `may_be_far` addresses of the open network too."""
    rule = introduced if may_be_far else nearby
    usable = []
    for text in texts:
        parts = _LITERAL.fullmatch(text)
        if parts is None or parts["id"] not in (None, peer_id):
            continue
        if rule([parts["host"]], int(parts["port"]), own):
            usable.append(text)
    return tuple(dict.fromkeys(usable))[:MOST_ADDRESSES]
