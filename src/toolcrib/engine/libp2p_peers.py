"""Peers that are reached over libp2p: found, asked for their cards, and spoken to; who is trusted is decided elsewhere."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from toolcrib.errors import PeerRefused, ServerConnectionError
from toolcrib.lan.libp2p_process import CARD_PROTOCOL, MCP_PROTOCOL, Libp2pProcess
from toolcrib.model.peer import FoundBy, Sighting
from toolcrib.peers.addresses import OwnAddress, introduced, nearby
from toolcrib.upstream.libp2p_link import Libp2pLink

log = logging.getLogger(__name__)

CARD_SECONDS = 10.0
MOST_EXCHANGES = 8
MOST_REMEMBERED = 256
_MULTIADDRESS = re.compile(r"/ip[46]/(?P<host>[0-9A-Fa-f.:]{2,45})/tcp/(?P<port>\d{1,5})(?:/p2p/(?P<id>\w{1,60}))?")
_WRITTEN: FoundBy = "static"

TakeCard = Callable[[str, bytes], Awaitable[None]]
"""(the id that the transport proved, a card): judge it, and remember whose it is; raises PeerRefused"""


class Libp2pPeers:
    """Stands between the node and whoever keeps the book. Belongs to the event loop.

    `see` says whether a sighting is of interest at all (not ourselves, not blocked, room for it).
    """

    def __init__(
        self,
        process: Libp2pProcess,
        *,
        see: Callable[[Sighting], bool],
        take_card: TakeCard,
        own_card: Callable[[], bytes],
        own_addresses: Callable[[], Sequence[OwnAddress]],
    ) -> None:
        self._process = process
        self._see = see
        self._take_card = take_card
        self._own_card = own_card
        self._own_addresses = own_addresses
        self._addresses: dict[str, tuple[str, ...]] = {}
        self._exchanging: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(MOST_EXCHANGES)
        process.on_found = self.found

    def multiaddresses(self, peer_id: str) -> tuple[str, ...]:
        """Where a peer is reached; empty where it was never found in this way."""
        return self._addresses.get(peer_id, ())

    def found(self, peer_id: str, addresses: tuple[str, ...], by: str) -> None:
        """Somebody says that a peer is there: only what may be connected to is kept, and it is asked for its card."""
        usable = tuple(one for one in addresses if self._may_connect(one, peer_id, by))
        way: FoundBy = "dht" if by == "dht" else _WRITTEN if by == _WRITTEN else "libp2p"
        if not usable or not self._see(Sighting(peer_id, (), way)):
            return
        self._addresses.pop(peer_id, None)
        self._addresses[peer_id] = usable
        if len(self._addresses) > MOST_REMEMBERED:
            del self._addresses[next(iter(self._addresses))]
        self.exchange_soon(peer_id)

    def exchange_soon(self, peer_id: str) -> None:
        """Exchange cards with a peer, unless that is under way."""
        if peer_id not in self._exchanging:
            task = asyncio.create_task(self._exchange_quietly(peer_id))
            self._exchanging[peer_id] = task
            task.add_done_callback(lambda _: self._exchanging.pop(peer_id, None))

    async def exchange(self, peer_id: str) -> None:
        """Give a peer our card and take its own; raises ServerConnectionError or PeerRefused."""
        async with self._slots:
            body = await self._process.ask(
                peer_id, CARD_PROTOCOL, self._own_card(), CARD_SECONDS, self.multiaddresses(peer_id)
            )
        await self._take_card(peer_id, body)

    async def tell_all(self) -> None:
        """Our card has changed: everybody whom we reach gets it."""
        await self._process.announce(self._own_card())
        for peer_id in list(self._addresses):
            self.exchange_soon(peer_id)

    def open_link(self, server: str, peer_id: str) -> Libp2pLink | None:
        """A link to a peer that was found in this way; whether it is trusted is for the caller to know."""
        addresses = self.multiaddresses(peer_id)
        if not addresses:
            return None

        async def ask(line: bytes, seconds: float) -> bytes:
            return await self._process.ask(peer_id, MCP_PROTOCOL, line, seconds, addresses)

        return Libp2pLink(server, ask)

    async def close(self) -> None:
        running = list(self._exchanging.values())
        for task in running:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*running, return_exceptions=True)

    async def _exchange_quietly(self, peer_id: str) -> None:
        try:
            await self.exchange(peer_id)
        except PeerRefused as refusal:
            log.warning("the peer %s is refused over libp2p: %s", peer_id, refusal.message)
        except ServerConnectionError as problem:
            log.debug("no card of %s over libp2p: %s", peer_id, problem.message)
        except Exception:
            log.exception("exchanging cards over libp2p failed unexpectedly")

    def _may_connect(self, address: str, peer_id: str, by: str) -> bool:
        """What a person wrote is theirs to say; what others say has to be a neighbour, or in the open network for a table."""
        parts = _MULTIADDRESS.fullmatch(address)
        if parts is None or parts["id"] not in (None, peer_id):
            return by == _WRITTEN
        if by == _WRITTEN:
            return True
        rule = introduced if by == "dht" else nearby
        return bool(rule([parts["host"]], int(parts["port"]), self._own_addresses()))
