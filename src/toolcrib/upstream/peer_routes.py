"""From the id of a peer to a link: over HTTPS first, then over libp2p, and only to peers that a person trusts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol

from toolcrib.errors import PeerRefused, ServerConnectionError
from toolcrib.model.peer import KnownPeer, PeerAddress
from toolcrib.upstream.link import Link, LinkEars, TransportLimits
from toolcrib.upstream.peer_https import PeerHttps

log = logging.getLogger(__name__)

# How long addresses for HTTPS are tried where there is another way: one that swallows what is sent would take all the time.
HTTPS_FIRST_SECONDS = 5.0


class PeerLinks(Protocol):
    """Opens links to peers over libp2p."""

    async def open_link(self, server: str, peer: KnownPeer) -> Link:
        """Raises ServerConnectionError where the peer can't be reached."""


class TrustedPeerRoutes:
    """Fulfils `PeerRoutes`; `find` looks a peer up by its id and may ask a disk, `streams` gives the way over libp2p."""

    def __init__(
        self,
        https: PeerHttps,
        find: Callable[[str], KnownPeer | None],
        streams: Callable[[], PeerLinks | None] = lambda: None,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._https = https
        self._find = find
        self._streams = streams
        self._now = now

    async def open(self, server: str, peer_id: str, ears: LinkEars, limits: TransportLimits) -> Link:
        """A link to the peer, at the first of its addresses where it answers."""
        peer = self._trusted(server, peer_id, await asyncio.to_thread(self._find, peer_id))
        streams = self._streams() if peer.multiaddrs else None
        refusal: PeerRefused | None = None
        try:
            async with asyncio.timeout(HTTPS_FIRST_SECONDS) if streams is not None else nullcontext():
                return await self._over_https(server, peer, ears, limits)
        except PeerRefused as problem:
            refusal = problem  # its address may be somebody else's by now
        except (ServerConnectionError, TimeoutError) as problem:
            log.debug("%s: %s", server, problem)
        if streams is not None:
            try:
                return await streams.open_link(server, peer)
            except ServerConnectionError as problem:
                log.debug("%s: %s", server, problem)
        raise refusal or self._away(server, peer)

    def moved(self, peer_id: str, address: PeerAddress) -> None:
        """A peer was met at this address: whoever is connected to it elsewhere has to look anew."""
        self._https.moved(peer_id, address)

    async def _over_https(self, server: str, peer: KnownPeer, ears: LinkEars, limits: TransportLimits) -> Link:
        refusal: PeerRefused | None = None
        for address in peer.addresses if peer.certificate and peer.listens_for_https else ():
            try:
                return await self._https.open_at(server, peer, address, ears, limits)
            except PeerRefused as problem:
                refusal = problem  # it may answer at another one
            except ServerConnectionError as problem:
                log.debug("%s: %s", server, problem)
        raise refusal or self._away(server, peer)

    def _trusted(self, server: str, peer_id: str, peer: KnownPeer | None) -> KnownPeer:
        if peer is None:
            raise ServerConnectionError(
                f"{server}: no peer with the id {peer_id} was found yet",
                server=server,
                hint="`toolcrib peers list` shows those that were.",
            )
        if not peer.is_trusted:
            raise PeerRefused(
                f"{server} is not trusted",
                reason="untrusted",
                hint=f"A person has to trust it first: `toolcrib peers trust {server}`.",
            )
        return peer

    def _away(self, server: str, peer: KnownPeer) -> ServerConnectionError:
        if peer.multiaddrs and not peer.listens_for_https and self._streams() is None:
            return ServerConnectionError(
                f"{server} is reached over libp2p only, and this process does not speak it",
                server=server,
                hint="The engine that your clients share speaks it, or `toolcrib serve --http` where there is none, "
                "with peers.libp2p in your own configuration.",
            )
        if peer.seen_at is None:
            when = "was never reached"
        else:
            when = f"was last seen {max(0, round(self._now() - peer.seen_at))} s ago"
        where = f" at {peer.where}" if peer.where else ""
        return ServerConnectionError(
            f"{server} {when}{where}, and can't be reached now",
            server=server,
            retryable=True,
            hint="It comes back by itself once it is there again; `toolcrib peers show` says more.",
        )
