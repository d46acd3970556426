"""Announcements that nobody should follow: a machine that hears them speaks to nobody because of them."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from tests.fakes import eventually
from tests.peers.machines import BOUND_SECONDS, LOOPBACK, machine
from toolcrib.lan.dns_sd import MCP_TYPE
from toolcrib.lan.interfaces import hosts_of, interface_addresses
from toolcrib.peers.identity import Identity

pytestmark = pytest.mark.usefixtures("multicast")
IGNORED = "is announced at no address of our networks"


class Trap:
    """Somebody who listens and notes that a connection came."""

    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        self.came = 0

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator[Trap]:
        async def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            trap.came += 1
            writer.close()

        server = await asyncio.start_server(note, LOOPBACK, 0)
        trap = cls(server)
        async with server:
            yield trap


@asynccontextmanager
async def announced(interface: str, *records: AsyncServiceInfo) -> AsyncIterator[None]:
    speaking = AsyncZeroconf(interfaces=[interface])
    try:
        await asyncio.gather(*[await speaking.async_register_service(one) for one in records])
        yield
    finally:
        await speaking.async_unregister_all_services()
        await speaking.async_close()


def record(name: str, peer_id: str, address: str, port: int) -> AsyncServiceInfo:
    return AsyncServiceInfo(
        MCP_TYPE,
        f"{name}.{MCP_TYPE}",
        port=port,
        addresses=[ipaddress.ip_address(address).packed],
        properties={"v": "1", "proto": "https", "path": "/mcp", "id": peer_id},
        server=f"{name}.local.",
    )


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What the finder says of each record."""
    with caplog.at_level("DEBUG", "toolcrib.lan.dns_sd"):
        yield caplog


async def test_our_own_announcement_duplicates_and_addresses_of_other_networks_are_ignored(
    tmp_path: Path, heard: pytest.LogCaptureFixture
) -> None:
    strangers = [Identity.kept_at(tmp_path / f"{name}.key").peer_id for name in ("far", "cloud")]
    async with (
        Trap.opened() as trap,
        machine(tmp_path / "kitchen", "kitchen", peers_mdns=True) as kitchen,
        machine(tmp_path / "study", "study", peers_mdns=True) as study,
        announced(
            LOOPBACK,
            record("hostile-own", kitchen.peer_id, LOOPBACK, trap.port),
            record("hostile-far", strangers[0], "10.9.9.9", trap.port),
            record("hostile-cloud", strangers[1], "169.254.169.254", trap.port),
            record("hostile-low", strangers[0], LOOPBACK, 22),
            record("hostile-twin", study.peer_id, LOOPBACK, study.port),
        ),
    ):
        await kitchen.knows("peer-study")
        for name in ("far", "cloud", "low"):
            await eventually(lambda name=name: f"hostile-{name}.{MCP_TYPE} {IGNORED}" in heard.text, BOUND_SECONDS)
        await eventually(lambda: f"hostile-own.{MCP_TYPE} is announced, and is no peer" in heard.text, BOUND_SECONDS)

        known = {peer.peer_id: peer.addresses for peer in kitchen.peers().values()}
        assert known[study.peer_id] == (study.address,)
        assert known.keys().isdisjoint([kitchen.peer_id, *strangers])


async def test_an_announcement_of_our_own_loopback_address_makes_us_call_nobody(
    tmp_path: Path, heard: pytest.LogCaptureFixture
) -> None:
    networks = [host for host in hosts_of(interface_addresses([])) if ":" not in host]
    if not networks:
        pytest.skip("this machine is on no network but loopback")
    hostile = Identity.kept_at(tmp_path / "hostile.key").peer_id
    async with (
        Trap.opened() as trap,
        machine(tmp_path / "kitchen", "kitchen", peers_mdns=True, peers_interfaces=(networks[0],)) as kitchen,
        announced(networks[0], record("hostile-here", hostile, LOOPBACK, trap.port)),
    ):
        await eventually(lambda: f"hostile-here.{MCP_TYPE} {IGNORED}" in heard.text, BOUND_SECONDS)

        assert trap.came == 0
        assert kitchen.peers() == {}
