"""DNS-SD by multicast: other agents announce themselves on the network, and so do we where a person wants it."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
from collections.abc import Callable, Sequence
from typing import Any

from zeroconf import BadTypeInNameException, NonUniqueNameException, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from toolcrib.model.peer import AgentCard, PeerAddress, Sighting
from toolcrib.model.peer_id import is_peer_id, key_of_peer_id
from toolcrib.peers.addresses import OwnAddress, nearby
from toolcrib.peers.multiaddresses import usable_multiaddresses

log = logging.getLogger(__name__)

MCP_TYPE = "_mcp._tcp.local."
DEFAULT_TAG = "praxis-p2p-mcp"
RESOLVE_SECONDS = 3.0
MOST_QUEUED = 256
MOST_RESOLVED_AT_ONCE = 8
HINT_CHARACTERS = 8
_MOST_NAME_BYTES = 40
_MOST_TEXT_BYTES = 255
_REGISTER_SECONDS = 10.0


class DnsSd:
    """Fulfils `PeerFinder` on the event loop, on the interfaces with these addresses."""

    def __init__(self, own: Sequence[OwnAddress], *, own_id: str, tag: str = DEFAULT_TAG) -> None:
        self._own = own
        self._own_id = own_id
        self._tag = tag
        self._types = (MCP_TYPE, f"_{tag}._tcp.local.")
        self._seen: Callable[[Sighting], None] = lambda _: None
        self._zeroconf: AsyncZeroconf | None = None
        self._browser: AsyncServiceBrowser | None = None
        self._announced: list[AsyncServiceInfo] = []
        # A dictionary for its order: names that were announced and not looked up yet, the oldest first.
        self._queued: dict[tuple[str, str], None] = {}
        self._woken = asyncio.Event()
        self._working: list[asyncio.Task[None]] = []

    async def start(self, seen: Callable[[Sighting], None]) -> None:
        hosts = [str(one.ip) for one in self._own if one.version == 4]
        if not hosts:
            raise OSError("no chosen interface has an IPv4 address")
        self._seen = seen
        self._zeroconf = AsyncZeroconf(interfaces=hosts)
        self._working = [asyncio.create_task(self._resolve(self._zeroconf)) for _ in range(MOST_RESOLVED_AT_ONCE)]
        self._browser = AsyncServiceBrowser(self._zeroconf.zeroconf, list(self._types), handlers=[self._noticed])

    async def announce(self, card: AgentCard, addresses: Sequence[PeerAddress], multiaddrs: Sequence[str] = ()) -> None:
        if self._zeroconf is None:
            return
        infos = [self._info(kind, card, addresses, multiaddrs) for kind in self._types]
        async with asyncio.timeout(_REGISTER_SECONDS):
            if self._announced:
                sent = [await self._zeroconf.async_update_service(info) for info in infos]
            else:
                sent = [await self._register(self._zeroconf, info) for info in infos]
            await asyncio.gather(*sent)
        self._announced = infos

    async def close(self) -> None:
        zeroconf, self._zeroconf = self._zeroconf, None
        browser, self._browser = self._browser, None
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        if browser is not None:
            await browser.async_cancel()
        if zeroconf is not None:
            await zeroconf.async_unregister_all_services()  # says goodbye
            await zeroconf.async_close()

    async def _register(self, zeroconf: AsyncZeroconf, info: AsyncServiceInfo) -> Any:
        try:
            return await zeroconf.async_register_service(info)
        except NonUniqueNameException:
            # The name ends in our id: it is our own, from before a crash, or of another network card.
            return await zeroconf.async_register_service(info, allow_name_change=True)

    def _info(
        self, kind: str, card: AgentCard, addresses: Sequence[PeerAddress], multiaddrs: Sequence[str]
    ) -> AsyncServiceInfo:
        properties = {
            "v": "1",
            "proto": "https",
            "path": card.path,
            "id": card.peer_id,
            "c": card.etag[:HINT_CHARACTERS],
        }
        if kind != MCP_TYPE:
            properties |= {"peer_id": card.peer_id, "service": self._tag}
            if multiaddrs:
                properties["addresses"] = _fitting(multiaddrs)
        return AsyncServiceInfo(
            kind,
            f"{instance_name(card)}.{kind}",
            port=card.port,
            addresses=[ipaddress.ip_address(one.host.partition("%")[0]).packed for one in addresses],
            properties=properties,
            server=f"toolcrib-{hashlib.sha256(key_of_peer_id(card.peer_id) or b'').hexdigest()[:12]}.local.",
        )

    def _noticed(self, zeroconf: Any, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        """Called by zeroconf for every packet: what it says in full is told at once, any other name waits its turn."""
        if state_change is ServiceStateChange.Removed:
            return  # it is gone when it does not answer, whatever somebody says
        try:
            info = AsyncServiceInfo(service_type, name)
        except BadTypeInNameException:
            log.debug("%r is announced, which is no name", name[:100])
            return
        if info.load_from_cache(zeroconf):
            # Not behind those that wait: anybody can announce many names and nothing more, and each costs seconds.
            self._tell(info)
        else:
            self._wait_in_line((service_type, name))

    def _wait_in_line(self, queued: tuple[str, str]) -> None:
        self._queued.pop(queued, None)
        if len(self._queued) >= MOST_QUEUED:
            del self._queued[next(iter(self._queued))]
        self._queued[queued] = None
        self._woken.set()

    async def _resolve(self, zeroconf: AsyncZeroconf) -> None:
        while True:
            while not self._queued:
                self._woken.clear()
                await self._woken.wait()
            kind, name = next(iter(self._queued))
            del self._queued[kind, name]
            try:
                info = AsyncServiceInfo(kind, name)
                if await info.async_request(zeroconf.zeroconf, RESOLVE_SECONDS * 1000):
                    self._tell(info)
            except Exception:
                # Whatever a stranger says must not end the search for others.
                log.debug("%r is announced, and can't be looked up", name[:100], exc_info=True)

    def _tell(self, info: AsyncServiceInfo) -> None:
        told = {key.decode(errors="replace"): value or b"" for key, value in info.properties.items()}
        peer_id = told.get("id", b"").decode(errors="replace")
        if not is_peer_id(peer_id) or peer_id == self._own_id:
            log.debug("%s is announced, and is no peer", info.name[:100])
            return
        addresses = nearby(info.parsed_scoped_addresses(), info.port or 0, self._own)
        named = told.get("addresses", b"").decode(errors="replace").split(",")
        multiaddrs = usable_multiaddresses(named, peer_id, self._own)
        if addresses or multiaddrs:
            hint = told.get("c", b"").decode(errors="replace")[:HINT_CHARACTERS]
            self._seen(Sighting(peer_id, addresses, "mdns", hint, multiaddrs))
        else:
            log.debug("%s is announced at no address of our networks", info.name[:100])


def _fitting(multiaddrs: Sequence[str]) -> str:
    """As many of them as one text of a record holds."""
    told = ""
    for one in multiaddrs:
        longer = f"{told},{one}" if told else one
        if len("addresses=") + len(longer) > _MOST_TEXT_BYTES:
            break
        told = longer
    return told


def instance_name(card: AgentCard) -> str:
    """Under which name a peer is announced: its own, bounded, and the end of its id."""
    name = card.name.encode()[:_MOST_NAME_BYTES].decode(errors="ignore").replace(".", "-")
    return f"{name}-{card.peer_id[-6:]}"
