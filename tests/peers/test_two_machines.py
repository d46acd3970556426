"""Two machines meet on loopback: cards, trust, and a call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.fakes import FakeServer, eventually, text, tool
from tests.peers.machines import BOUND_SECONDS, machine
from tests.peers.test_meeting import both_trust, comes_to
from toolcrib.config.load import load_settings


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


async def test_machines_hear_of_each_other_on_the_network(multicast: None, tmp_path: Path) -> None:
    async with (
        machine(tmp_path / "kitchen", "kitchen", peers_mdns=True) as kitchen,
        machine(tmp_path / "study", "study", peers_mdns=True) as study,
    ):
        assert (await study.knows("peer-kitchen")).peer_id == kitchen.peer_id
        assert (await kitchen.knows("peer-study")).peer_id == study.peer_id
        assert set(kitchen.peers()) == {"peer-study"}


async def test_without_peers_no_card_is_made(tmp_path: Path) -> None:
    notes = FakeServer("notes", [tool("add")])
    off = {"peers_enabled": False, "peers_expose": ("notes",)}
    async with machine(tmp_path / "kitchen", "kitchen", notes, is_first=False, **off) as kitchen:
        assert await kitchen.gateway.ready(10)
        assert not kitchen.paths.peer_key.exists()
        assert not kitchen.face.address

        kitchen.settings = replace(kitchen.settings, peers_enabled=True)
        await eventually(lambda: kitchen.face.address, BOUND_SECONDS)
        assert kitchen.paths.peer_key.exists()


async def test_peers_and_external_endpoints_are_used_side_by_side(tmp_path: Path) -> None:
    """In one document peers are looked for only where no endpoint is configured; here both are."""
    file = tmp_path / "agent.yaml"
    file.write_text(
        "agent: {name: study, external_mcp_endpoints: ['http://127.0.0.1:1/lamps']}\np2p: {enabled: true}\n"
        "mcp: {enabled: true}\n"
    )
    read = load_settings(file, env={"TOOLCRIB_HOME": str(tmp_path / "home")})
    (endpoint,) = read.servers
    lamps = FakeServer(endpoint.name, [tool("dim")], tools={"dim": lambda _: text("dark")})
    notes = FakeServer("notes", [tool("add")], tools={"add": lambda _: text("done")})
    async with machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes",)) as kitchen:
        both = {"servers": read.servers, "peers_enabled": read.peers_enabled, "peers_static": (str(kitchen.address),)}
        async with machine(tmp_path / "study", "study", lamps, **both) as study:
            await both_trust(study, kitchen)
            await comes_to("", study, "peer-kitchen", "notes__add")
            answer = await study.gateway.execute_tool(endpoint.name, "dim_external", {})

    assert (answer.value, notes.calls, lamps.calls) == ("dark", [("add", {})], [("dim", {})])
