"""`peers.scan`: listed addresses are looked at once, politely, and what is there waits for a person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fakes import spec
from tests.upstream.http_servers import Out, Script, SdkServer, Seen, serve, unused_address
from toolcrib import Settings
from toolcrib.approvals.proposal import Proposal
from toolcrib.engine.engine import Engine
from toolcrib.engine.gateway_wiring import WorkspaceCapabilities
from toolcrib.engine.listed_addresses import ListedAddresses, MeetPeer, no_peer
from toolcrib.engine.open_gateway import open_engine
from toolcrib.errors import ServerConnectionError
from toolcrib.lan.scan import MOST_PORTS_AT_ONCE, AddressScan, FoundServer
from toolcrib.model.peer import PeerAddress, Sighting
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import RemoteLaunch, ServerSpec


@dataclass
class Scanner:
    """The scan of an engine with its real approvals."""

    engine: Engine
    capabilities: WorkspaceCapabilities
    addresses: ListedAddresses
    seen: list[Sighting]

    async def scan(self, *entries: str) -> list[Proposal]:
        """What waits for a person after this list was looked at."""
        async with asyncio.timeout(30):
            self.addresses.configure(entries)
            await self.addresses.settle()
        return self.capabilities().approvals.all("pending")


@asynccontextmanager
async def scanner(
    *servers: ServerSpec, meet: MeetPeer = no_peer, env: Mapping[str, str] | None = None
) -> AsyncIterator[Scanner]:
    settings = Settings(servers=servers)
    async with open_engine(settings, env=env, read_due=False) as engine:
        capabilities = WorkspaceCapabilities(engine, engine.new_workspace(settings))
        seen: list[Sighting] = []
        addresses = ListedAddresses(
            engine,
            lambda: capabilities().review,
            configured=capabilities.configured,
            meet=meet,
            seen=seen.append,
        )
        try:
            yield Scanner(engine, capabilities, addresses, seen)
        finally:
            await addresses.close()
            capabilities.close()


def place(url: str) -> str:
    return url.removeprefix("http://")


@pytest.mark.parametrize(("path", "transport"), [("/mcp", "http"), ("/sse", "sse")])
async def test_listed_addresses_are_probed_and_wait_for_a_person(path: str, transport: str) -> None:
    app = SdkServer().streamable_app() if path == "/mcp" else SdkServer().sse_app()

    async with serve(app) as url, scanner() as scan:
        (proposal,) = await scan.scan(place(url))

        assert (proposal.state, proposal.source) == ("pending", "scan")
        assert proposal.launch == RemoteLaunch(url + path, transport=transport)  # type: ignore[arg-type]
        assert [tool["name"] for tool in proposal.definitions] == ["echo", "noisy", "slow"]
        assert proposal.server_info["name"] == "sdk"
        assert scan.capabilities().approvals.approved() == {}


async def test_what_is_no_mcp_server_is_asked_little_and_proposed_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_AUTH_TOKEN", "secret-token")

    async def not_found(_: Seen, out: Out) -> None:
        await out.send(404, b"{}")

    app = Script(not_found)
    async with serve(app) as url, scanner() as scan:
        assert await scan.scan(place(url)) == []

    asked = [(seen.method, seen.path) for seen in app.seen]
    assert asked[0] == ("GET", "/health")
    assert {path for _, path in asked} == {"/health", "/mcp", "/sse"}
    assert len(asked) <= 6
    assert all(seen.headers["user-agent"].startswith("toolcrib/") for seen in app.seen)
    assert not any("authorization" in seen.headers for seen in app.seen)


async def test_an_address_that_is_not_listed_is_never_dialled() -> None:
    async def answer(_: Seen, out: Out) -> None:
        await out.send(200, b"{}")

    app = Script(answer)
    async with serve(app), scanner() as scan:
        assert await scan.scan() == []
        assert await scan.scan(place(unused_address())) == []

    assert app.seen == []


async def test_an_address_is_looked_at_once_and_a_new_one_in_the_list_alone() -> None:
    async def not_found(_: Seen, out: Out) -> None:
        await out.send(404, b"{}")

    first, second = Script(not_found), Script(not_found)
    async with serve(first) as one, serve(second) as other, scanner() as scan:
        await scan.scan(place(one))
        asked = len(first.seen)
        await scan.scan(place(one))
        await scan.scan(place(one), place(other))

    assert asked == len(first.seen) > 0
    assert len(second.seen) == asked


async def test_a_server_that_is_configured_already_is_left_alone() -> None:
    async def answer(_: Seen, out: Out) -> None:
        await out.send(200, b"{}")

    app = Script(answer)
    async with serve(app) as url, scanner(spec("own", launch=RemoteLaunch(f"{url}/mcp"))) as scan:
        await scan.scan(place(url))

    assert app.seen == []


async def test_a_server_that_a_person_rejected_is_not_proposed_again() -> None:
    async with serve(SdkServer().streamable_app()) as url:
        async with scanner() as scan:
            (proposal,) = await scan.scan(place(url))
            scan.capabilities().review.reject(proposal.id, "me")
        async with scanner() as scan:
            assert await scan.scan(place(url)) == []


async def test_a_peer_at_a_listed_address_is_a_sighting_and_no_server() -> None:
    sighting = Sighting("12D3KooWA4Xop1JaT3MHxwYMkCepYsv4iPVopMXwCz5iHYdBfeSB", (), "static")

    async def meet(_: PeerAddress) -> Sighting:
        return sighting

    async with serve(SdkServer().streamable_app()) as url, scanner(meet=meet) as scan:
        assert await scan.scan(place(url)) == []
        assert scan.seen == [sighting]


@dataclass
class Street:
    """Addresses of which some are open; notes how many were looked at at the same time."""

    servers: set[int] = field(default_factory=set)
    looked_at: list[str] = field(default_factory=list)
    now: int = 0
    most: int = 0

    async def is_open(self, address: PeerAddress) -> bool:
        self.looked_at.append(str(address))
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return address.port in self.servers

    async def speaks_http(self, url: str) -> bool:
        return url.startswith("http:")

    async def read(self, spec: ServerSpec) -> ServerReading:
        assert isinstance(spec.launch, RemoteLaunch)
        if spec.launch.transport == "http":
            raise ServerConnectionError("not here", server=spec.name)
        return ServerReading(Identity("legacy", "2025-11-25"), ())

    async def peer(self, _: PeerAddress) -> Sighting | None:
        return None


async def test_a_range_is_looked_at_a_few_ports_at_a_time_and_one_address_after_the_other() -> None:
    street = Street(servers={8085})
    found: list[Any] = []

    async def take(server: FoundServer) -> None:
        found.append((server.spec.name, server.spec.launch))

    scan = AddressScan(street, found=take, seen=lambda _: None, is_configured=lambda _: False)
    await scan.run(["192.0.2.10:8080-8090", "192.0.2.11:8085"])

    assert street.looked_at == [*(f"192.0.2.10:{port}" for port in range(8080, 8091)), "192.0.2.11:8085"]
    assert street.most == MOST_PORTS_AT_ONCE
    assert found == [
        (f"192.0.2.{last}-8085", RemoteLaunch(f"http://192.0.2.{last}:8085/sse", transport="sse")) for last in (10, 11)
    ]
