"""All that is there for peers while it is wanted: the desk that looks, the announcements, the port, and libp2p."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from toolcrib.config.settings import Settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.peer_wiring import OpenDesk, open_desk
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.gateway import Gateway
from toolcrib.lan.interfaces import hosts_of, interface_addresses
from toolcrib.peers.addresses import OwnAddress, own_addresses, reached_at
from toolcrib.peers.certificate import server_context
from toolcrib.server.announcing import announce_and_look
from toolcrib.server.own_peer import ServedPeer, keep_written_down
from toolcrib.server.peer_app import PeerApp, listen_at, serve_peers
from toolcrib.server.peer_libp2p import speak_libp2p
from toolcrib.server.peer_pages import OwnPeer

log = logging.getLogger(__name__)

# Everything that this machine has, where nobody chose; that is no more than peers are told of, but it lasts longer.
_ALL_IPV4 = "0.0.0.0"  # noqa: S104 - who may call is decided by proofs, not by addresses
_ALL_IPV6 = "::"


async def serve(
    engine: Engine,
    gateway: Gateway,
    settings: Callable[[], Settings],
    *,
    ending: asyncio.Event,
    edited: asyncio.Event,
    on_open: Callable[[OwnPeer], None],
    on_ready: Callable[[str], None],
) -> None:
    """Be there for peers until `ending` is set; `on_open` gets who we are, `on_ready` the address, if one is listened at."""

    def networks() -> Sequence[OwnAddress]:
        return own_addresses(interface_addresses(settings().peers_interfaces))

    async with open_desk(engine, gateway, settings, networks) as opened, AsyncExitStack() as parts:
        if settings().peers_advertise:
            # First: whoever hears of us may come.
            on_ready(await parts.enter_async_context(_listening(engine, gateway, opened, settings)))
        own = ServedPeer(opened.desk, lambda: _reached_at(opened, networks(), settings()))
        on_open(own)
        running = [
            asyncio.create_task(_follow_edits(opened, settings, edited)),
            asyncio.create_task(keep_written_down(own, engine.paths.peer_presence)),
            asyncio.create_task(speak_libp2p(engine, gateway, opened, networks, settings)),
        ]
        if settings().peers_mdns:
            running.append(asyncio.create_task(announce_and_look(opened, networks, settings)))
        running.append(asyncio.create_task(opened.desk.run()))
        await _until(ending, running)


async def _until(ending: asyncio.Event, running: Sequence[asyncio.Task[None]]) -> None:
    """Wait until it is to end; where one of the parts fails, all of them end, and why is raised."""
    waiting = asyncio.create_task(ending.wait())
    try:
        await asyncio.wait({waiting, *running}, return_when=asyncio.FIRST_COMPLETED)
        for task in running:
            if task.done():
                task.result()
    finally:
        waiting.cancel()
        # Those that began last end first: nobody is looked for any more when we say goodbye.
        for task in reversed(running):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await asyncio.gather(waiting, return_exceptions=True)


async def _follow_edits(opened: OpenDesk, settings: Callable[[], Settings], edited: asyncio.Event) -> None:
    while True:
        opened.listed.configure(settings().peers_scan)
        await edited.wait()
        edited.clear()
        opened.desk.configure()


def _reached_at(opened: OpenDesk, networks: Sequence[OwnAddress], settings: Settings) -> list[str]:
    return [str(one) for one in reached_at(networks, settings.peers_host, opened.own_card.port)]


@asynccontextmanager
async def _listening(
    engine: Engine, gateway: Gateway, opened: OpenDesk, settings: Callable[[], Settings]
) -> AsyncIterator[str]:
    """Let peers in; where they can come."""
    listeners = await asyncio.to_thread(_listeners, settings())
    host, opened.own_card.port = listeners[0].getsockname()[:2]
    stop = asyncio.Event()
    serving = asyncio.create_task(
        serve_peers(
            PeerApp(opened.desk, gateway, settings, engine.limiter, opened.calls),
            listeners,
            server_context(engine.paths.peer_certificate),
            stop=stop,
            grace_seconds=lambda: settings().shutdown_grace_seconds,
        )
    )
    try:
        yield f"https://{f'[{host}]' if ':' in host else host}:{opened.own_card.port}"
    finally:
        stop.set()
        await serving


def _listeners(settings: Settings) -> list[socket.socket]:
    if not settings.peers_host and not settings.peers_interfaces:
        return _listen_everywhere(settings.peers_port)
    hosts = [settings.peers_host] if settings.peers_host else hosts_of(interface_addresses(settings.peers_interfaces))
    if not hosts:
        raise ConfigurationError(
            [Problem("peers.interfaces", "no interface of this machine has such a name or address now")],
            hint="Correct it, or leave it out: all interfaces but loopback are used then.",
        )
    return listen_at(hosts, settings.peers_port)


def _listen_everywhere(port: int) -> list[socket.socket]:
    listeners = listen_at([_ALL_IPV4], port)
    try:
        return [*listeners, *listen_at([_ALL_IPV6], listeners[0].getsockname()[1])]
    except ConfigurationError:
        return listeners  # a machine without IPv6
