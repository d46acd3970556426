"""One host: Noise only, behind the front, with the key that the engine gave."""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, BinaryIO

import trio
from libp2p import new_host
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.crypto.x25519 import create_new_key_pair as new_noise_keys
from libp2p.security.noise.transport import PROTOCOL_ID as NOISE
from libp2p.security.noise.transport import Transport as Noise
from multiaddr import Multiaddr

from toolcrib.libp2p_node.finding import find_by_mdns, find_in_dht
from toolcrib.libp2p_node.front import Front
from toolcrib.libp2p_node.presence import watch_presence
from toolcrib.libp2p_node.roads import Roads
from toolcrib.libp2p_node.streams import Streams, Unsent
from toolcrib.libp2p_node.wire import Wire
from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker
from toolcrib.masking.spans import MASK
from toolcrib.telemetry.logs import mask_in_logs

log = logging.getLogger(__name__)


def run(source: BinaryIO, sink: BinaryIO) -> None:
    """Serve the engine until its pipe ends."""
    trio.run(_serve, source, sink)


async def _serve(source: BinaryIO, sink: BinaryIO) -> None:
    wire = Wire(source, sink)
    wanted = await wire.read()
    if wanted is None:
        return
    mask_in_logs(Masker(KnownSecrets({wanted["key"]: MASK})))
    try:
        listeners = await _listeners(wanted["listen"])
    except OSError as problem:
        await wire.send("trouble", text=f"peers can't be listened for at {_places(wanted['listen'])}: {problem}")
        return
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
    behind = [Multiaddr(f"/ip4/127.0.0.1/tcp/{inner}")] if listeners else []
    async with host.run(listen_addrs=behind), trio.open_nursery() as nursery:
        roads = Roads(host)
        node = _Node(wire, Streams(host, wire, roads), roads, nursery)
        if listeners:
            nursery.start_soon(Front(inner).run, listeners)
        nursery.start_soon(watch_presence, host, wire, roads.connected)
        full = [f"{address}/p2p/{peer_id}" for address in addresses]
        await wire.send("ready", peer=peer_id, addrs=full)
        if wanted.get("mdns"):
            nursery.start_soon(find_by_mdns, wanted["tag"], peer_id, full, wanted.get("interfaces") or [], node)
        if wanted.get("dht"):
            nursery.start_soon(find_in_dht, host, wanted["rendezvous"], wanted.get("bootstrap") or [], node)
        await node.obey()
        nursery.cancel_scope.cancel()


class _Node:
    """Does what the engine says."""

    def __init__(self, wire: Wire, streams: Streams, roads: Roads, nursery: trio.Nursery) -> None:
        self._wire = wire
        self._streams = streams
        self._roads = roads
        self._nursery = nursery

    async def obey(self) -> None:
        while (order := await self._wire.read()) is not None:
            match order["kind"]:
                case "connect":
                    self._nursery.start_soon(self._answer, order, self._connect)
                case "ask":
                    self._nursery.start_soon(self._answer, order, self._ask)
                case "answer":
                    self._streams.answered(order["n"], order.get("body"))

    async def found(self, peer: str, addresses: Sequence[str], by: str) -> None:
        """Somebody may be there: the engine decides whether they are asked, and where."""
        await self._wire.send("found", peer=peer, addrs=list(addresses), by=by)

    async def trouble(self, text: str) -> None:
        await self._wire.send("trouble", text=text)

    async def _connect(self, order: dict[str, Any]) -> str:
        with trio.fail_after(float(order["seconds"])):
            return await self._roads.connect(order["peer"], order["addrs"])

    async def _ask(self, order: dict[str, Any]) -> str:
        body = order["body"].encode()
        answer = await self._streams.ask(order["peer"], order["protocol"], body, float(order["seconds"]))
        return answer.decode(errors="replace")

    async def _answer(self, order: dict[str, Any], work: Callable[[dict[str, Any]], Awaitable[str]]) -> None:
        try:
            body = await work(order)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the engine hears of it and the node goes on
            is_sent = order["kind"] == "ask" and not isinstance(problem, Unsent)
            await self._wire.send("answer", n=order["n"], error=_words(problem), sent=is_sent)
        else:
            await self._wire.send("answer", n=order["n"], body=body)


async def _listeners(places: Sequence[tuple[str, int]]) -> list[trio.SocketListener]:
    """One for each address, all on the same port where that is a free one."""
    listeners: list[trio.SocketListener] = []
    chosen = 0
    for host, port in places:
        listeners += await trio.open_tcp_listeners(port or chosen, host=host, backlog=1024)
        chosen = listeners[0].socket.getsockname()[1]
    return listeners


def _places(listen: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{host} port {port}" for host, port in listen)


def _address_of(listener: trio.SocketListener) -> str:
    host, port = listener.socket.getsockname()[:2]
    return f"/{'ip6' if ':' in host else 'ip4'}/{host}/tcp/{port}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _words(problem: BaseException) -> str:
    return str(problem)[:300] or type(problem).__name__
