"""What is said on the network, and what of it is believed: real multicast on loopback."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any

import pytest
from zeroconf import ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from tests.fakes import eventually
from tests.peers.hand_made import announced, only_named, speaking
from toolcrib.lan.dns_sd import MCP_TYPE, DnsSd
from toolcrib.model.peer import PeerAddress, Sighting
from toolcrib.model.peer_id import is_peer_id
from toolcrib.peers.addresses import own_addresses
from toolcrib.peers.card import own_card
from toolcrib.peers.identity import Identity

pytestmark = pytest.mark.usefixtures("multicast")

TAG_TYPE = "_praxis-p2p-mcp._tcp.local."
OWN = own_addresses(["127.0.0.1/8"])
PLACE = PeerAddress("127.0.0.1", 8666)


@pytest.mark.usefixtures("multicast")
async def test_a_machine_announces_the_tag_with_its_id_and_no_tool_and_says_goodbye(tmp_path: Path) -> None:
    identity = Identity.kept_at(tmp_path / "peer.key")
    tools = [{"name": "notes__add", "inputSchema": {"type": "object"}}]
    card = own_card(identity, name="kitchen", version="1", definitions=tools, port=8666, tls="", now=0)
    heard: dict[str, ServiceStateChange] = {}

    def hear(zeroconf: Any, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        del zeroconf
        if name.startswith(f"kitchen-{identity.peer_id[-6:]}."):  # other tests announce on the same network
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


@pytest.mark.usefixtures("multicast")
async def test_other_peers_are_heard_and_we_ourselves_and_others_products_are_not(tmp_path: Path) -> None:
    own, other, distant = (Identity.kept_at(tmp_path / name) for name in ("own.key", "other.key", "far.key"))
    seen: list[Sighting] = []
    printer, island = (f"{name}-{secrets.token_hex(4)}" for name in ("printer", "island"))
    strange = AsyncServiceInfo(
        MCP_TYPE, f"{printer}.{MCP_TYPE}", port=9000, properties={"id": "7"}, server=f"{printer}.local."
    )
    far = AsyncServiceInfo(
        MCP_TYPE,
        f"{island}.{MCP_TYPE}",
        port=8666,
        addresses=[bytes((192, 0, 2, 1))],
        properties={"id": distant.peer_id},
        server=f"{island}.local.",
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

    # Other tests announce on the same network at the same time.
    ours = {own.peer_id, other.peer_id, distant.peer_id}
    told = {(one.peer_id, one.addresses, one.by) for one in seen if one.peer_id in ours}
    assert told == {(other.peer_id, (PLACE,), "mdns")}
    assert all(is_peer_id(one.peer_id) for one in seen)


@pytest.mark.usefixtures("multicast")
async def test_names_that_nobody_stands_behind_delay_nobody(tmp_path: Path) -> None:
    own, other = (Identity.kept_at(tmp_path / name) for name in ("own.key", "other.key"))
    seen: list[Sighting] = []
    finder = DnsSd(OWN, own_id=own.peer_id)
    try:
        await finder.start(seen.append)
        async with speaking("127.0.0.1") as speaker:
            await speaker.send(*(only_named(f"nobody{number}") for number in range(300)))
            await speaker.announce(announced(other.peer_id, PLACE))
            # Each of the others would be waited for, three seconds and eight at a time.
            await eventually(lambda: other.peer_id in {one.peer_id for one in seen}, 5)
    finally:
        await finder.close()


# Names that no service may have, and that can't be looked up.
NONSENSE = ("bell\x07", "line\n", "\x1b[2J", f"{'x' * 50}.{'y' * 50}")


@pytest.mark.usefixtures("multicast")
async def test_names_that_no_service_may_have_do_not_end_the_search(tmp_path: Path) -> None:
    own, other = (Identity.kept_at(tmp_path / name) for name in ("own.key", "other.key"))
    seen: list[Sighting] = []
    finder = DnsSd(OWN, own_id=own.peer_id)
    try:
        await finder.start(seen.append)
        async with speaking("127.0.0.1") as speaker:
            await speaker.send(*(only_named(f"{number}{NONSENSE[number % 4]}") for number in range(100)))
            await speaker.announce(announced(other.peer_id, PLACE))
            await eventually(lambda: other.peer_id in {one.peer_id for one in seen}, 5)
    finally:
        await finder.close()


@pytest.mark.usefixtures("multicast")
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
