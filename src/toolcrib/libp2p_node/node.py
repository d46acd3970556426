"""One host: Noise only, behind the front, with the key that the engine gave."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

import trio
from libp2p import new_host
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.crypto.x25519 import create_new_key_pair as new_noise_keys
from libp2p.peer.peerinfo import info_from_p2p_addr
from libp2p.security.noise.transport import PROTOCOL_ID as NOISE
from libp2p.security.noise.transport import Transport as Noise
from multiaddr import Multiaddr

from toolcrib.libp2p_node.finding import find_by_mdns, find_in_dht
from toolcrib.libp2p_node.front import Front
from toolcrib.libp2p_node.presence import watch_presence
from toolcrib.libp2p_node.streams import Streams
from toolcrib.libp2p_node.wire import Wire

log = logging.getLogger(__name__)

DIAL_SECONDS = 30.0


def run(source: BinaryIO, sink: BinaryIO) -> None:
    """Serve the engine until its pipe ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    trio.run(_serve, source, sink)


async def _serve(source: BinaryIO, sink: BinaryIO) -> None:
    wire = Wire(source, sink)
    wanted = await wire.read()
    if wanted is None:
        return
    listeners = [
        listener
        for host, port in wanted["listen"]
        for listener in await trio.open_tcp_listeners(port, host=host, backlog=1024)
    ]
    keys = create_new_key_pair(bytes.fromhex(wanted["key"]))
    inner = _free_port()
    addresses = [_address_of(listener) for listener in listeners]
    # By default libp2p would also take connections that are not encrypted.
    host = new_host(
        key_pair=keys,
        sec_opt={NOISE: Noise(keys, noise_privkey=new_noise_keys().private_key)},
        announce_addrs=[Multiaddr(address) for address in addresses] or None,
    )
    peer_id = str(host.get_id())
    async with host.run(listen_addrs=[Multiaddr(f"/ip4/127.0.0.1/tcp/{inner}")]), trio.open_nursery() as nursery:
        streams = Streams(host, wire)
        node = _Node(host, wire, streams, nursery)
        nursery.start_soon(Front(inner).run, listeners)
        nursery.start_soon(watch_presence, host, wire, streams.connected)
        full = [f"{address}/p2p/{peer_id}" for address in addresses]
        await wire.send("ready", peer=peer_id, addrs=full)
        if wanted.get("mdns"):
            nursery.start_soon(find_by_mdns, wanted["tag"], peer_id, full, wanted.get("interfaces") or [], node.found)
        if wanted.get("dht"):
            nursery.start_soon(find_in_dht, host, wanted["rendezvous"], wanted.get("bootstrap") or [], node.found)
        await node.obey()
        nursery.cancel_scope.cancel()


class _Node:
    """Does what the engine says."""

    def __init__(self, host: Any, wire: Wire, streams: Streams, nursery: trio.Nursery) -> None:
        self._host = host
        self._wire = wire
        self._streams = streams
        self._nursery = nursery

    async def obey(self) -> None:
        while (order := await self._wire.read()) is not None:
            match order["kind"]:
                case "card":
                    self._streams.card = order["body"].encode()
                case "dial":
                    self._nursery.start_soon(self._dial, order["addr"])
                case "ask":
                    self._nursery.start_soon(self._ask, order)
                case "answer":
                    self._streams.answered(order["n"], order.get("body"))

    async def found(self, peer: str, addresses: Sequence[str], by: str) -> None:
        """Somebody may be there: the engine decides whether they are asked, and where."""
        await self._wire.send("found", peer=peer, addrs=list(addresses), by=by)

    async def _dial(self, address: str) -> None:
        try:
            with trio.fail_after(DIAL_SECONDS):
                info = info_from_p2p_addr(Multiaddr(address))
                self._streams.remember(str(info.peer_id), [address])
                await self._host.connect(info)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the engine hears of it and the node goes on
            await self._wire.send("trouble", text=f"{address} could not be reached: {_words(problem)}")
        else:
            await self.found(str(info.peer_id), [address], "static")

    async def _ask(self, order: dict[str, Any]) -> None:
        if order.get("addrs"):
            self._streams.remember(order["peer"], order["addrs"])
        try:
            answer = await self._streams.ask(
                order["peer"], order["protocol"], order["body"].encode(), float(order["seconds"])
            )
        except Exception as problem:  # noqa: BLE001 - as above
            await self._wire.send("answer", n=order["n"], error=_words(problem))
        else:
            await self._wire.send("answer", n=order["n"], body=answer.decode(errors="replace"))


def _address_of(listener: trio.SocketListener) -> str:
    host, port = listener.socket.getsockname()[:2]
    return f"/{'ip6' if ':' in host else 'ip4'}/{host}/tcp/{port}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _words(problem: BaseException) -> str:
    return str(problem)[:300] or type(problem).__name__
