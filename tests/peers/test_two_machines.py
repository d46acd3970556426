"""Two machines meet on loopback: cards, trust, and a call."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest

from tests.fakes import FakeServer, eventually, text, tool
from tests.peers.machines import BOUND_SECONDS, machine
from tests.peers.test_meeting import both_trust, comes_to
from toolcrib.config.load import load_settings
from toolcrib.model.tool_rule import ToolRule


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


async def test_calls_to_a_peer_are_in_the_audit_log_and_obey_rules_and_rates(tmp_path: Path) -> None:
    names = ("add", "drop")
    notes = FakeServer("notes", [tool(name) for name in names], tools={name: lambda _: text("done") for name in names})
    # Nothing is let in again within the time that this test takes.
    obeying = {"tool_rules": (ToolRule(("*drop*",), enabled=False, server="peer-*"),), "call_rate": 0.01}
    async with machine(tmp_path / "kitchen", "kitchen", notes, peers_expose=("notes",)) as kitchen:
        assert await kitchen.gateway.ready(10)
        async with machine(tmp_path / "study", "study", peers_static=(str(kitchen.address),), **obeying) as study:
            await study.knows("peer-kitchen")
            await kitchen.knows("peer-study")
            await eventually(lambda: len(study.pending()["peer-kitchen"].definitions) == 2, BOUND_SECONDS)
            study.trust("kitchen")
            kitchen.trust("study")
            await study.shows("peer-kitchen")
            assert [hit.tool for hit in await study.gateway.search_tools("drop", server="peer-kitchen")] == []

            codes = []
            for name in ("notes__drop", "notes__add", "notes__add"):
                answer = await study.gateway.execute_tool("peer-kitchen", name, {})
                codes.append(answer.error.code if answer.error is not None else "")

            assert codes == ["TOOL_DISABLED", "", "RATE_LIMITED"]
            assert notes.calls == [("add", {})]
    lines = [json.loads(line) for line in study.paths.audit_log.read_text().splitlines()]
    told = [(one["tool"], one["outcome"]) for one in lines if one["tool"].startswith("notes__")]
    assert told == [("notes__drop", "TOOL_DISABLED"), ("notes__add", "OK"), ("notes__add", "RATE_LIMITED")]


@pytest.mark.usefixtures("multicast")
async def test_machines_hear_of_each_other_on_the_network(tmp_path: Path) -> None:
    # Other tests announce on the same network at the same time.
    here, there = (f"{name}-{secrets.token_hex(4)}" for name in ("kitchen", "study"))
    async with (
        machine(tmp_path / "kitchen", here, peers_mdns=True) as kitchen,
        machine(tmp_path / "study", there, peers_mdns=True) as study,
    ):
        assert (await study.knows(f"peer-{here}")).peer_id == kitchen.peer_id
        assert (await kitchen.knows(f"peer-{there}")).peer_id == study.peer_id
        assert f"peer-{here}" not in kitchen.peers()


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
