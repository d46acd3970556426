"""Another agent on the network: what it says of itself, where it is, and what a person decided about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

# A peer is a server with the address `peer://<peer id>`; where that id is reached now is found out when it is called.
PEER_SCHEME = "peer"
# The source of a server that is a peer: it gets no token of the environment.
FROM_PEER = "peer"
PEER_SERVER_PREFIX = "peer-"

# seen: nobody has decided. trusted: its reviewed tools are offered. blocked: it is ignored for good.
Trust = Literal["seen", "trusted", "blocked"]
FoundBy = Literal["mdns", "static", "bootstrap", "card", "scan", "libp2p", "dht"]


def peer_url(peer_id: str) -> str:
    """The address of a peer, wherever it is."""
    return f"{PEER_SCHEME}://{peer_id}"


def peer_id_of(url: str) -> str | None:
    """The peer that an address names, or None where it is the address of something else."""
    scheme, _, peer_id = url.partition("://")
    return peer_id if scheme == PEER_SCHEME and peer_id else None


@dataclass(frozen=True, slots=True)
class PeerAddress:
    """Where a peer listens: a literal IP address (a scope id included); where a person wrote a name, that name."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class AgentCard:
    """What a peer signed about itself. `definitions` are its tools as `tools/list` would have them; None in a brief card.

    `tool_count` says how many tools it has; a card holds only some of very many. `port` is 0 where it does not listen.
    `tls` is the hash of the key of its certificate, `etag` a hash of everything but the time.
    """

    name: str
    version: str
    peer_id: str
    capabilities: tuple[str, ...] = ()
    definitions: tuple[Mapping[str, Any], ...] | None = ()
    tool_count: int = 0
    timestamp: int = 0
    port: int = 0
    path: str = "/mcp"
    tls: str = ""
    etag: str = ""

    def brief(self) -> AgentCard:
        """The same without its tools: cards of strangers are many and large, and are looked into for a decision only."""
        return self if self.definitions is None else replace(self, definitions=None)


@dataclass(frozen=True, slots=True)
class Sighting:
    """Somebody said that a peer is there; `hint` is the beginning of its card's etag, where that was said too.

    `multiaddrs` are addresses for libp2p.
    """

    peer_id: str
    addresses: tuple[PeerAddress, ...]
    by: FoundBy
    hint: str = ""
    multiaddrs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPeer:
    """All that is kept of a peer. `server` is its name as a server, fixed when it was first seen.

    `pins` are the fingerprints of the tools that a person reviewed, by name. `seen_at` is None until it answered.
    `away_since` is when it first did not answer a check, None while it answers. `trouble` says why it was refused, where
    it was.
    """

    peer_id: str
    server: str
    title: str
    by: FoundBy
    found_at: float
    seen_at: float | None = None
    trust: Trust = "seen"
    pins: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[PeerAddress, ...] = ()
    card: AgentCard | None = None
    certificate: bytes = field(default=b"", repr=False)
    multiaddrs: tuple[str, ...] = ()
    away_since: float | None = None
    trouble: str = ""

    def brief(self) -> KnownPeer:
        """The same with a brief card."""
        return self if self.card is None else replace(self, card=self.card.brief())

    @property
    def is_trusted(self) -> bool:
        return self.trust == "trusted"

    @property
    def is_there(self) -> bool:
        """Whether it answered the last time that it was asked."""
        return self.seen_at is not None and self.away_since is None

    @property
    def listens_for_https(self) -> bool:
        """Whether there is an address where it can be called over HTTPS; one that only calls others has none."""
        return bool(self.addresses) and self.card is not None and self.card.port > 0

    @property
    def where(self) -> str:
        """The address where it is tried first, without the id that ends one for libp2p; empty where none is known."""
        places = [*map(str, self.addresses), *(one.partition("/p2p/")[0] for one in self.multiaddrs)]
        return places[0] if places else ""

    def is_stale(self, now: float, stale_seconds: float) -> bool:
        """Whether it did not answer for so long that its tools are no longer offered."""
        return self.seen_at is None or now - self.seen_at > stale_seconds
