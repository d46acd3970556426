"""What is said on the network, and what of it is believed: real multicast on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from zeroconf import ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from tests.fakes import eventually
from toolcrib.lan.dns_sd import MCP_TYPE, DnsSd
from toolcrib.model.peer import PeerAddress, Sighting
from toolcrib.peers.addresses import own_addresses
from toolcrib.peers.card import own_card
from toolcrib.peers.identity import Identity

pytestmark = pytest.mark.usefixtures("multicast")

TAG_TYPE = "_praxis-p2p-mcp._tcp.local."
OWN = own_addresses(["127.0.0.1/8"])
PLACE = PeerAddress("127.0.0.1", 8666)


async def test_a_machine_announces_the_tag_with_its_id_and_no_tool_and_says_goodbye(tmp_path: Path) -> None:
    identity = Identity.kept_at(tmp_path / "peer.key")
    tools = [{"name": "notes__add", "inputSchema": {"type": "object"}}]
    card = own_card(identity, name="kitchen", version="1", definitions=tools, port=8666, tls="", now=0)
    heard: dict[str, ServiceStateChange] = {}

    def hear(zeroconf: Any, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        del zeroconf, name
        heard[service_type] = state_change

    listening = AsyncZeroconf(interfaces=["127.0.0.1"])
    browser = AsyncServiceBrowser(listening.zeroconf, [MCP_TYPE, TAG_TYPE], handlers=[hear])
    announcing = DnsSd(OWN, own_id=identity.peer_id)
    try:
        await announcing.start(lambda _: None)
        await announcing.announce(card, [PLACE])
        await eventually(lambda: set(heard) == {MCP_TYPE, TAG_TYPE})
        info = AsyncServiceInfo(TAG_TYPE, f"kitchen-{identity.peer_id[-6:]}.{TAG_TYPE}")
        assert await info.async_request(listening.zeroconf, 3000)

        await announcing.close()
        await eventually(lambda: set(heard.values()) == {ServiceStateChange.Removed})
    finally:
        await announcing.close()
        await browser.async_cancel()
        await listening.async_close()
    told = {key.decode(): (value or b"").decode() for key, value in info.properties.items()}
    assert (told["id"], told["service"], info.port) == (identity.peer_id, "praxis-p2p-mcp", 8666)
    assert "notes" not in str(told)


async def test_other_peers_are_heard_and_we_ourselves_and_others_products_are_not(tmp_path: Path) -> None:
    own, other = (Identity.kept_at(tmp_path / name) for name in ("own.key", "other.key"))
    seen: list[Sighting] = []
    strange = AsyncServiceInfo(
        MCP_TYPE, f"printer.{MCP_TYPE}", port=9000, properties={"id": "7"}, server="printer.local."
    )
    far = AsyncServiceInfo(
        MCP_TYPE,
        f"far.{MCP_TYPE}",
        port=8666,
        addresses=[bytes((192, 0, 2, 1))],
        properties={"id": Identity.kept_at(tmp_path / "far.key").peer_id},
        server="far.local.",
    )
    speaking = AsyncZeroconf(interfaces=["127.0.0.1"])
    finders = [DnsSd(OWN, own_id=one.peer_id) for one in (own, other)]
    try:
        await asyncio.gather(*[await speaking.async_register_service(one) for one in (strange, far)])
        await finders[0].start(seen.append)
        await finders[1].start(lambda _: None)
        for finder, identity in zip(finders, (own, other), strict=True):
            card = own_card(identity, name="x", version="1", definitions=[], port=8666, tls="", now=0)
            await finder.announce(card, [PLACE])
        await eventually(lambda: any(one.peer_id == other.peer_id for one in seen), 15)
    finally:
        for finder in finders:
            await finder.close()
        await speaking.async_unregister_all_services()
        await speaking.async_close()

    assert {(one.peer_id, one.addresses, one.by) for one in seen} == {(other.peer_id, (PLACE,), "mdns")}


async def test_where_libp2p_listens_is_announced_and_only_neighbours_are_believed(tmp_path: Path) -> None:
    own, other = (Identity.kept_at(tmp_path / name) for name in ("own.key", "other.key"))
    card = own_card(other, name="kitchen", version="1", definitions=[], port=8666, tls="", now=0)
    here = f"/ip4/127.0.0.1/tcp/4001/p2p/{other.peer_id}"
    elsewhere = [f"/ip4/10.9.8.7/tcp/4001/p2p/{other.peer_id}", f"/ip4/127.0.0.1/tcp/4001/p2p/{own.peer_id}"]
    seen: list[Sighting] = []
    listening, announcing = DnsSd(OWN, own_id=own.peer_id), DnsSd(OWN, own_id=other.peer_id)
    try:
        await listening.start(seen.append)
        await announcing.start(lambda _: None)
        await announcing.announce(card, [PLACE], [here, elsewhere[0]])
        await eventually(lambda: _multiaddresses(seen, other) == {here})
        await announcing.announce(card, [PLACE], elsewhere[1:])
        await eventually(lambda: () in [one.multiaddrs for one in seen if one.peer_id == other.peer_id][-2:])
    finally:
        await announcing.close()
        await listening.close()

    assert _multiaddresses(seen, other) == {here}


def _multiaddresses(seen: list[Sighting], peer: Identity) -> set[str]:
    return {one for sighting in seen if sighting.peer_id == peer.peer_id for one in sighting.multiaddrs}
