"""Two machines meet on loopback: cards, trust, and a call."""

from __future__ import annotations

import secrets
from pathlib import Path

from tests.fakes import FakeServer, tool
from tests.peers.machines import machine


async def test_two_machines_exchange_cards_and_one_runs_a_tool_of_the_other(tmp_path: Path) -> None:
    notes = FakeServer(
        "notes",
        [tool("add", "Add a note.", inputSchema={"type": "object", "properties": {"text": {"type": "string"}}})],
    )
    async with machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes",)) as kitchen:
        assert await kitchen.gateway.ready(10)
        async with machine(tmp_path / "study", "study", peers_static=(str(kitchen.address),)) as study:
            found = await study.knows("peer-kitchen")
            assert found.peer_id == kitchen.peer_id
            back = await kitchen.knows("peer-study")
            assert back.peer_id == study.peer_id
            assert "peer-kitchen" in study.pending()
            assert not study.gateway.knows("peer-kitchen")

            study.trust("kitchen")
            kitchen.trust("study")
            await study.shows("peer-kitchen")
            answer = await study.gateway.execute_tool("peer-kitchen", "notes__add", {"text": "milk"})

            assert answer.error is None
            assert notes.calls == [("add", {"text": "milk"})]


async def test_machines_hear_of_each_other_on_the_network(tmp_path: Path) -> None:
    # All tests of this machine share its loopback network, so that the names must be nobody else's.
    first, second = (f"{name}-{secrets.token_hex(4)}" for name in ("kitchen", "study"))
    async with (
        machine(tmp_path / "kitchen", first, peers_mdns=True) as kitchen,
        machine(tmp_path / "study", second, peers_mdns=True) as study,
    ):
        assert (await study.knows(f"peer-{first}")).peer_id == kitchen.peer_id
        assert (await kitchen.knows(f"peer-{second}")).peer_id == study.peer_id
        assert kitchen.peer_id not in {peer.peer_id for peer in kitchen.peers().values()}
