"""Machines with peers, each with a home, an engine and a port of its own, all on loopback and in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.fakes import FakeServer, FakeServers, eventually, spec
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.capabilities import read_capabilities
from toolcrib.engine.engine import Engine, Opener
from toolcrib.engine.from_settings import link_opener
from toolcrib.engine.libp2p_peers import Libp2pPeers
from toolcrib.engine.open_gateway import open_home
from toolcrib.engine.peer_specs import open_peer_store
from toolcrib.engine.peer_trust import opened_peer_review
from toolcrib.gateway import Gateway
from toolcrib.model.peer import KnownPeer, PeerAddress, peer_id_of
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.peers.identity import Identity
from toolcrib.server.peer_face import PeerFace
from toolcrib.upstream.link import Link, LinkEars

BOUND_SECONDS = 20.0
LOOPBACK = "127.0.0.1"


@dataclass
class Machine:
    """One person's machine; `settings` may be replaced while it runs."""

    folder: Path
    settings: Settings
    engine: Engine
    gateway: Gateway
    servers: FakeServers
    face: PeerFace

    @property
    def paths(self) -> Paths:
        return self.engine.paths

    @property
    def peer_id(self) -> str:
        return Identity.kept_at(self.paths.peer_key).peer_id

    @property
    def port(self) -> int:
        return int(self.face.address.rpartition(":")[2])

    @property
    def address(self) -> PeerAddress:
        return PeerAddress(LOOPBACK, self.port)

    @property
    def multiaddresses(self) -> tuple[str, ...]:
        """Where its libp2p listens; none while it does not run."""
        streams = self.engine.peer_routes.streams
        return tuple(streams.addresses) if isinstance(streams, Libp2pPeers) else ()

    def peers(self) -> dict[str, KnownPeer]:
        """Those that it knows, by the names of their servers, with their whole cards."""
        with closing(open_peer_store(self.paths)) as store:
            return {peer.server: store.peer(peer.peer_id) or peer for peer in store.peers()}

    def pending(self) -> dict[str, Any]:
        """The proposals that wait for a person, by server."""
        with read_capabilities(self.settings, self._env()) as opened:
            return {proposal.server: proposal for proposal in opened.approvals.all("pending")}

    def trust(self, name: str) -> None:
        """What a person does with `toolcrib peers trust`."""
        with (
            read_capabilities(self.settings, self._env()) as opened,
            opened_peer_review(self.paths, opened.review) as review,
        ):
            review.approve(review.proposal_for(review.find(name)), "test")

    def block(self, name: str) -> None:
        """What a person does with `toolcrib peers forget --block`."""
        with (
            read_capabilities(self.settings, self._env()) as opened,
            opened_peer_review(self.paths, opened.review) as review,
        ):
            review.forget(review.find(name), "test", block=True)

    async def knows(self, name: str) -> KnownPeer:
        await eventually(lambda: name in self.peers(), BOUND_SECONDS)
        return self.peers()[name]

    async def shows(self, name: str) -> None:
        """Wait until its agents see the server of a peer."""
        await eventually(lambda: self.gateway.knows(name), BOUND_SECONDS)

    async def hides(self, name: str) -> None:
        await eventually(lambda: not self.gateway.knows(name), BOUND_SECONDS)

    def _env(self) -> Mapping[str, str]:
        return {"TOOLCRIB_HOME": str(self.folder)}


class _Reached:
    """Fake servers of this machine's own, and real links to peers."""

    def __init__(self, servers: FakeServers) -> None:
        self._servers = servers
        self.links: Opener | None = None

    async def __call__(self, one: ServerSpec, ears: LinkEars) -> Link:
        if isinstance(one.launch, RemoteLaunch) and peer_id_of(one.launch.url) and self.links is not None:
            return await self.links(one, ears)
        return await self._servers(one, ears)

    async def close(self) -> None:
        if self.links is not None:
            await self.links.close()


@asynccontextmanager
async def machine(
    folder: Path, name: str, *servers: FakeServer, is_first: bool = True, **settings: Any
) -> AsyncIterator[Machine]:
    """A machine that is there for peers, with these servers, until the block ends; unless another process of it is."""
    env = {"TOOLCRIB_HOME": str(folder)}
    given = {
        "peers_enabled": True,
        "peers_advertise": True,
        "peers_port": 0,
        "peers_interfaces": (LOOPBACK,),
        "peers_mdns": False,
        "peers_name": name,
        "peers_check_interval_seconds": 1.0,
        "servers": tuple(spec(server.name) for server in servers),
        **settings,
    }
    chosen = replace(Settings(), **given)
    fakes = FakeServers(*servers)
    opener = _Reached(fakes)
    async with open_home(settings=chosen, env=env, opener=opener) as (engine, gateway):
        opener.links = link_opener(lambda: engine.settings, engine.paths, env, engine.peer_routes)
        one = Machine(folder, chosen, engine, gateway, fakes, None)  # type: ignore[arg-type]
        one.face = PeerFace(engine, lambda: one.settings, lambda: nullcontext(gateway))
        leaving = asyncio.Event()
        running = asyncio.create_task(one.face.run(leaving))
        try:
            if chosen.peers_advertise and is_first:
                await eventually(lambda: one.face.address, BOUND_SECONDS)
            yield one
        finally:
            leaving.set()
            await running
