"""Ways to find peers: multicast with addresses as libp2p writes them, and a rendezvous in the hash table."""

from __future__ import annotations

import ipaddress
import logging
import queue
import secrets
from collections.abc import Sequence
from typing import Any, Protocol

import trio
from libp2p.kad_dht.kad_dht import DHTMode, KadDHT
from libp2p.peer.peerinfo import info_from_p2p_addr
from libp2p.tools.anyio_service import background_trio_service
from multiaddr import Multiaddr
from zeroconf import Error as ZeroconfError
from zeroconf import InterfaceChoice, ServiceBrowser, ServiceInfo, ServiceStateChange, Zeroconf

log = logging.getLogger(__name__)

RESOLVE_MS = 3_000
MOST_NAMES = 256
LOOK_EVERY_SECONDS = 30.0
FIRST_LOOKS = 10
FIRST_LOOK_SECONDS = 2.0
JOIN_SECONDS = 10.0


class Listener(Protocol):
    """Hears who was found, and what keeps us from looking."""

    async def found(self, peer: str, addresses: Sequence[str], by: str) -> None: ...

    async def trouble(self, text: str) -> None: ...


async def find_by_mdns(
    tag: str, own_id: str, addresses: Sequence[str], interfaces: Sequence[str], listener: Listener
) -> None:
    """Announce ourselves, and tell of everybody else; starting takes a second or two, so it is done in a thread."""
    kind = f"_{tag}._udp.local."
    names: queue.Queue[str] = queue.Queue(MOST_NAMES)

    def changed(*, name: str, state_change: ServiceStateChange, **_: Any) -> None:
        # Names are resolved elsewhere: here one that does not answer would keep all others waiting.
        if state_change is not ServiceStateChange.Removed and not names.full():
            names.put_nowait(name)

    def start() -> Zeroconf:
        zeroconf = Zeroconf(interfaces=list(interfaces) or InterfaceChoice.All)
        if addresses:
            zeroconf.register_service(_announcement(kind, addresses))
        ServiceBrowser(zeroconf, kind, handlers=[changed])
        return zeroconf

    try:
        zeroconf = await trio.to_thread.run_sync(start)
    except (OSError, ZeroconfError) as problem:
        await listener.trouble(f"peers can't be heard on the network: {problem}")
        return
    try:
        while True:
            name = await trio.to_thread.run_sync(names.get, abandon_on_cancel=True)
            told = await trio.to_thread.run_sync(_resolved, zeroconf, kind, name)
            for peer, address in told:
                if peer != own_id:
                    await listener.found(peer, [address], "libp2p")
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(zeroconf.close)


def _announcement(kind: str, addresses: Sequence[str]) -> ServiceInfo:
    hosts = [part.split("/")[2] for part in addresses]
    port = int(addresses[0].split("/")[4])
    name = secrets.token_hex(16)
    # python-zeroconf keeps only the first of several `dnsaddr`, so there is one.
    return ServiceInfo(
        kind,
        f"{name}.{kind}",
        port=port,
        addresses=[ipaddress.ip_address(host).packed for host in hosts],
        properties={"dnsaddr": addresses[0]},
        server=f"{name}.local.",
    )


def _resolved(zeroconf: Zeroconf, kind: str, name: str) -> list[tuple[str, str]]:
    info = zeroconf.get_service_info(kind, name, RESOLVE_MS)
    if info is None:
        return []
    told = info.decoded_properties.get("dnsaddr") or ""
    try:
        return [(str(info_from_p2p_addr(Multiaddr(told)).peer_id), told)]
    except Exception as problem:  # noqa: BLE001 - anybody may announce anything
        log.info("an announcement can't be read: %r", problem)
        return []


async def find_in_dht(host: Any, rendezvous: str, bootstrap: Sequence[str], listener: Listener) -> None:
    """Meet under a word; what the table tells is a hint and may be incomplete."""
    table = KadDHT(host, DHTMode.SERVER)
    async with background_trio_service(table):
        looks = 0
        while True:
            try:
                await _join(host, table, bootstrap)
                await table.provide(rendezvous)
                for info in await table.find_providers(rendezvous):
                    if info.peer_id != host.get_id() and info.addrs:
                        full = [f"{str(one).partition('/p2p/')[0]}/p2p/{info.peer_id}" for one in info.addrs]
                        await listener.found(str(info.peer_id), full, "dht")
            except Exception as problem:  # noqa: BLE001 - the next look may succeed
                log.info("a look into the hash table failed: %r", problem)
            looks += 1
            # Soon after the start others are still joining.
            await trio.sleep(FIRST_LOOK_SECONDS if looks < FIRST_LOOKS else LOOK_EVERY_SECONDS)


async def _join(host: Any, table: KadDHT, bootstrap: Sequence[str]) -> None:
    """Be connected to the nodes that a person wrote; one that was not there, or has left, is tried each time."""
    for address in bootstrap:
        try:
            info = info_from_p2p_addr(Multiaddr(address))
            if info.peer_id not in host.get_connected_peers():
                with trio.fail_after(JOIN_SECONDS):
                    await host.connect(info)
                await table.add_peer(info.peer_id)
        except Exception as problem:  # noqa: BLE001 - the others may do
            log.info("the bootstrap node %s could not be reached: %r", address, problem)
