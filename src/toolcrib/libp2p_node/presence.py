"""Who is connected: libp2p notices a cable that was pulled only when somebody speaks, so we do."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any

import trio
from libp2p.host.ping import PingService

from toolcrib.libp2p_node.wire import Wire

LOOK_EVERY_SECONDS = 1.0
LOOKS_PER_PING = 10
PING_SECONDS = 5.0


async def watch_presence(host: Any, wire: Wire, known: set[Any]) -> None:
    """Tell the engine who of those that were connected has left; every ten seconds each of them has to answer a ping.

    Whoever connects somewhere else may enter the peer into `known`, so that nobody is missed between two looks.
    """
    pings = PingService(host)
    async with trio.open_nursery() as nursery:
        look = 0
        while True:
            connected = set(host.get_connected_peers())
            for gone in known - connected:
                # It may come back at another place; libp2p asks it for that only if nothing is known of it.
                host.get_peerstore().clear_addrs(gone)
                host.get_peerstore().clear_protocol_data(gone)
                await wire.send("gone", peer=str(gone))
            known.clear()
            known.update(connected)
            look += 1
            if look % LOOKS_PER_PING == 0:
                nursery.start_soon(_ping_all, host, pings, frozenset(connected))
            await trio.sleep(LOOK_EVERY_SECONDS)


async def _ping_all(host: Any, pings: PingService, peers: AbstractSet[Any]) -> None:
    async with trio.open_nursery() as nursery:
        for peer in peers:
            nursery.start_soon(_ping, host, pings, peer)


async def _ping(host: Any, pings: PingService, peer: Any) -> None:
    answered = False
    with trio.move_on_after(PING_SECONDS), suppress(Exception):
        await pings.ping(peer)
        answered = True
    if not answered:
        with trio.move_on_after(PING_SECONDS), suppress(Exception):
            await host.disconnect(peer)
