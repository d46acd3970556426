"""Homes whose engines meet others on loopback, and the commands that a person runs there."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.host.shared_engine import SharedWorkshop
from tests.host.test_commands import command
from tests.journeys.stdio_gateway import ask

ON_LOOPBACK = {"enabled": True, "advertise": True, "port": 0, "interfaces": ["127.0.0.1"], "checkInterval": 1}


async def toolcrib(shop: SharedWorkshop, *arguments: str) -> Any:
    """What a command says as JSON; it must succeed."""
    ran = await command(shop, *arguments, "--json")
    assert ran.code == 0, ran.err
    return ran.json


async def until_peer_is(shop: SharedWorkshop, name: str, state: str) -> None:
    """Wait until `toolcrib peers list` says so of a peer."""
    seen: list[Any] = []
    for _ in range(40):
        seen = (await toolcrib(shop, "peers", "list"))["peers"]
        if any(peer["name"] == name and peer["state"] == state for peer in seen):
            return
        await asyncio.sleep(0.3)
    raise AssertionError(f"{name} is not {state}: {seen}; {shop.log.read_text()[-2000:]}")


async def until_listed(client: Any, server: str) -> None:
    """Wait until an agent sees a server."""
    for _ in range(40):
        if any(one["name"] == server for one in (await ask(client, "list_mcp_servers"))["servers"]):
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{server} is not listed")


async def until_pending(shop: SharedWorkshop, source: str) -> dict[str, Any]:
    """The first proposal from this source that waits in `toolcrib approvals`."""
    for _ in range(40):
        for one in (await toolcrib(shop, "approvals", "list"))["approvals"]:
            if one["source"] == source and one["state"] == "pending":
                return dict(one)
        await asyncio.sleep(0.3)
    raise AssertionError(f"nothing waits; {shop.log.read_text()[-2000:]}")
