"""Peers, put together: the way to those that are known, and the desk that looks for others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.gateway_wiring import WorkspaceCapabilities
from toolcrib.engine.listed_addresses import ListedAddresses
from toolcrib.engine.own_card import OwnCard
from toolcrib.engine.peer_calls import PeerCalls
from toolcrib.engine.peer_desk import PeerDesk
from toolcrib.engine.peer_record import PeerRecords
from toolcrib.engine.peer_round import Rules, meet
from toolcrib.engine.peer_specs import open_peer_store
from toolcrib.engine.peer_trust import PeerReview
from toolcrib.gateway import Gateway
from toolcrib.model.peer import PeerAddress, Sighting
from toolcrib.peers.addresses import OwnAddress
from toolcrib.peers.certificate import certificate_hash, kept_certificate
from toolcrib.peers.identity import Identity, name_for_peers
from toolcrib.upstream.peer_http import PeerHttp
from toolcrib.upstream.peer_https import PeerHttps
from toolcrib.upstream.peer_routes import PeerLinks, TrustedPeerRoutes
from toolcrib.version import VERSION

USER_AGENT = f"toolcrib/{VERSION}"
MEET_SECONDS = 2.0


class StoredRoutes:
    """The way to peers as they are written down, whichever process found them."""

    def __init__(self, settings: Callable[[], Settings], paths: Paths, streams: Callable[[], PeerLinks | None]) -> None:
        self._store = open_peer_store(paths)
        https = PeerHttps(
            Identity.kept_at(paths.peer_key),
            user_agent=USER_AGENT,
            connect_seconds=lambda: settings().peers_connect_timeout_seconds,
            now=time.time,
        )
        self.routes = TrustedPeerRoutes(https, self._store.peer, streams)

    def close(self) -> None:
        self._store.close()


@dataclass(frozen=True, slots=True)
class OpenDesk:
    """The desk, our card as it is told to others, and who is beside it.

    `records` writes down what the desk sees, `listed` looks at addresses that a person listed, and `calls` counts what peers
    ask of us.
    """

    desk: PeerDesk
    own_card: OwnCard
    records: PeerRecords
    listed: ListedAddresses
    calls: PeerCalls


@asynccontextmanager
async def open_desk(
    engine: Engine,
    gateway: Gateway,
    settings: Callable[[], Settings],
    own_addresses: Callable[[], Sequence[OwnAddress]],
    now: Callable[[], float] = time.time,
) -> AsyncIterator[OpenDesk]:
    """Peers are offered tools of this gateway, and shown in the workspaces of the engine."""
    identity = await asyncio.to_thread(Identity.kept_at, engine.paths.peer_key)
    certificate = await asyncio.to_thread(kept_certificate, engine.paths.peer_certificate, identity.peer_id)
    own_card = OwnCard(
        identity,
        gateway.workspace.view,
        name=lambda: name_for_peers(settings().peers_name),
        patterns=lambda: settings().peers_expose,
        certificate_hash=certificate_hash(certificate),
        now=now,
    )
    capabilities = WorkspaceCapabilities(engine, gateway.workspace)
    with closing(capabilities), closing(await asyncio.to_thread(open_peer_store, engine.paths)) as store:
        review = PeerReview(store, capabilities().review, engine.store.forget)
        records = PeerRecords(engine, store, review, settings)
        await records.follow()
        http = PeerHttp(user_agent=USER_AGENT, max_bytes=lambda: settings().peers_max_card_bytes)
        desk = PeerDesk(
            identity, certificate, own_card, records, http, settings=settings, own_addresses=own_addresses, now=now
        )

        async def who_is_at(address: PeerAddress) -> Sighting:
            rules = Rules(now(), MEET_SECONDS, settings().peers_max_card_bytes, identity.peer_id)
            return Sighting((await meet(http, address, rules)).card.peer_id, (address,), "scan")

        listed = ListedAddresses(
            engine, lambda: capabilities().review, configured=capabilities.configured, meet=who_is_at, seen=desk.seen
        )
        try:
            yield OpenDesk(desk, own_card, records, listed, PeerCalls(engine.limiter, settings))
        finally:
            await listed.close()
