"""Addresses of peers as people write them; each function raises ValueError with what was expected."""

from __future__ import annotations

import ipaddress
import re

from toolcrib.model.peer import PeerAddress
from toolcrib.model.peer_id import is_peer_id

MOST_SCANNED_PORTS = 64
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?\.?")
_PLACE = re.compile(r"(?:\[(?P<v6>[^\[\]]+)\]|(?P<host>[^:\[\]]+)):(?P<first>\d{1,5})(?:-(?P<last>\d{1,5}))?")
_MULTIADDRESS = re.compile(r"/(?:ip4|ip6|dns|dns4|dns6)/[^/\s]+/tcp/\d{1,5}/p2p/[1-9A-HJ-NP-Za-km-z]{32,60}")
_AN_ADDRESS = "HOST:PORT, with an IPv6 address in brackets"


def written_address(text: str) -> PeerAddress:
    """`HOST:PORT`; the host is an address or a name."""
    host, first, last = _parts(text, _AN_ADDRESS)
    if first != last or not (_is_literal(host) or _HOST.fullmatch(host)):
        raise ValueError(f"expected {_AN_ADDRESS}")
    return PeerAddress(host, first)


def written_peer(text: str) -> tuple[str, PeerAddress]:
    """`HOST:PORT`, or `PEERID@HOST:PORT` for one peer alone; the id is empty where none is given."""
    peer_id, at, place = text.rpartition("@")
    if at and not is_peer_id(peer_id):
        raise ValueError("expected the id of a peer (12D3KooW...) before the @")
    return peer_id, written_address(place)


def is_multiaddress(text: str) -> bool:
    """Whether a bootstrap node is written as libp2p writes addresses."""
    return text.startswith("/")


def check_multiaddress(text: str) -> None:
    """A bootstrap node for libp2p has to name who is there: whoever answers proves that."""
    if not _MULTIADDRESS.fullmatch(text):
        raise ValueError(
            "expected a multiaddress that ends with the id of the node, such as /ip4/192.0.2.7/tcp/4001/p2p/ID"
        )


def scanned_addresses(text: str) -> list[PeerAddress]:
    """`ADDRESS:PORT` or `ADDRESS:FIRST-LAST`: one literal address, never a network or a name."""
    expected = f"an IP address with at most {MOST_SCANNED_PORTS} ports, such as 192.0.2.10:8080-8090"
    host, first, last = _parts(text, expected)
    if not _is_literal(host) or not first <= last < first + MOST_SCANNED_PORTS:
        raise ValueError(f"expected {expected}")
    return [PeerAddress(host, port) for port in range(first, last + 1)]


def _parts(text: str, expected: str) -> tuple[str, int, int]:
    found = _PLACE.fullmatch(text)
    if found is None or (found["v6"] and ":" not in found["v6"]):
        raise ValueError(f"expected {expected}")
    first, last = int(found["first"]), int(found["last"] or found["first"])
    if not 0 < first <= 65_535 or not 0 < last <= 65_535:
        raise ValueError("expected a port from 1 to 65535")
    return found["v6"] or found["host"], first, last


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
