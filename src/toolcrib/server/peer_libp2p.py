"""libp2p beside the other ways to peers, for as long as the settings want it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable, Sequence

from toolcrib.config.settings import Settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.libp2p_peers import Libp2pPeers
from toolcrib.engine.peer_bridge import PeerBridge
from toolcrib.engine.peer_wiring import OpenDesk
from toolcrib.errors import ExtraMissing
from toolcrib.gateway import Gateway
from toolcrib.lan.libp2p_process import Libp2pProcess, NodeSettings
from toolcrib.model.peer_address import is_multiaddress
from toolcrib.peers.addresses import OwnAddress
from toolcrib.peers.identity import kept_key

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
MOST_LISTENED_AT = 8
LOG_NAME = "libp2p.log"
Networks = Callable[[], Sequence[OwnAddress]]


async def speak_libp2p(
    engine: Engine, gateway: Gateway, opened: OpenDesk, networks: Networks, settings: Callable[[], Settings]
) -> None:
    """Run the node while it is wanted; with other settings or other networks it begins anew."""
    while True:
        wanted = _wanted(networks, settings)
        changing = asyncio.create_task(_another_than(wanted, networks, settings))
        try:
            if wanted is not None:
                await _run(engine, gateway, opened, networks, wanted, changing)
            await changing
        finally:
            changing.cancel()


def node_settings(settings: Settings, own: Sequence[OwnAddress]) -> NodeSettings | None:
    """What the node is to do; None where there is to be none. It listens only where others may find this machine."""
    if not settings.peers_libp2p:
        return None
    own = sorted(own, key=lambda one: (one.version, one.ip.packed))  # other networks are, another order is not
    bootstrap = tuple(text for text in settings.peers_bootstrap if is_multiaddress(text))
    hosts = _hosts(settings.peers_host, own) if settings.peers_advertise else ()
    return NodeSettings(
        listen=tuple((host, settings.peers_libp2p_port) for host in hosts),
        interfaces=tuple(str(one.ip) for one in own if one.version == 4),
        tag=settings.peers_tag,
        mdns=settings.peers_mdns and bool(own),
        dht=settings.peers_dht,
        rendezvous=settings.peers_rendezvous,
        bootstrap=bootstrap if settings.peers_dht else (),
    )


def _hosts(chosen: str, own: Sequence[OwnAddress]) -> tuple[str, ...]:
    """The addresses that are listened at: others are told of each of them, so none of them may mean all of them."""
    if chosen and not _means_all(chosen):
        return (chosen,)
    # Addresses of a link mean something only together with its name, which others have no use for.
    return tuple(str(one.ip) for one in own if not one.ip.is_link_local)[:MOST_LISTENED_AT]


def _means_all(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _wanted(networks: Networks, settings: Callable[[], Settings]) -> NodeSettings | None:
    """The same for this moment; nobody looks for networks where no node is wanted."""
    return node_settings(settings(), networks() if settings().peers_libp2p else ())


async def _another_than(wanted: NodeSettings | None, networks: Networks, settings: Callable[[], Settings]) -> None:
    while _wanted(networks, settings) == wanted:  # noqa: ASYNC110 - nobody tells of other networks
        await asyncio.sleep(LOOK_SECONDS)


async def _run(
    engine: Engine,
    gateway: Gateway,
    opened: OpenDesk,
    networks: Networks,
    wanted: NodeSettings,
    changing: asyncio.Task[None],
) -> None:
    """Until something else is wanted, or the node can't be had."""
    process, peers = await _node(engine, gateway, opened, networks, wanted)
    running = asyncio.create_task(process.run())
    engine.peer_routes.streams = peers
    try:
        await asyncio.wait({running, changing}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
    except ExtraMissing as missing:
        log.warning("%s. %s Peers are reached over HTTPS only.", missing.message, missing.hint)
    finally:
        engine.peer_routes.streams = None
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _node(
    engine: Engine, gateway: Gateway, opened: OpenDesk, networks: Networks, wanted: NodeSettings
) -> tuple[Libp2pProcess, Libp2pPeers]:
    desk = opened.desk
    bridge = PeerBridge(
        gateway,
        exposed=desk.exposed,
        card=lambda: desk.card().body,
        peer=desk.peer,
        take_card=desk.take_streamed,
        limiter=engine.limiter,
        calls=opened.calls,
    )
    process = Libp2pProcess(
        wanted,
        await asyncio.to_thread(kept_key, engine.paths.peer_key),
        on_asked=bridge,
        on_found=lambda *_: None,
        on_gone=desk.doubt,
        log_file=engine.paths.logs_dir / LOG_NAME,
    )
    peers = Libp2pPeers(process, seen=desk.seen, own_card=lambda: desk.card().body, own_addresses=networks)
    process.on_ready = lambda is_ready: desk.use_streams(peers if is_ready else None)
    return process, peers
