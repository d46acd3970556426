"""Machines that pretend to be one that is trusted: by its name, or in its very place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.journeys.stdio_gateway import Scripted, ask, execute, failure
from tests.peers.host_machines import HostMachine, Neighbourhood, meet, wait_until

pytestmark = pytest.mark.timeout(150)


def impostor_of(network: Neighbourhood, tmp_path: Path, *, prepared: bool) -> tuple[HostMachine, Scripted]:
    """Another machine that calls itself kitchen and offers the same tools, and the server that it has."""
    desk = Scripted(tmp_path / "impostor.jsonl")
    given = {"servers": {"desk": desk.entry()}, "peers": {"expose": ["desk:echo"]}}
    return network.machine("Kitchen", folder="impostor", starts=not prepared, **given), desk


async def test_a_machine_with_the_name_of_a_trusted_one_is_refused_loudly_and_never_shown(
    network: Neighbourhood, tmp_path: Path
) -> None:
    kitchen, study = network.with_desk("kitchen"), network.machine("study")
    meet(kitchen, study)
    impostor, desk = impostor_of(network, tmp_path, prepared=False)
    wait_until(lambda: _is_refused(study, impostor), lambda: study.log)

    assert re.search(rf"WARNING .*{impostor.peer_id}.* is refused: it claims the name of kitchen", study.log)
    (refused,) = (peer for peer in study.peers().values() if peer.peer_id == impostor.peer_id)
    assert (refused.title, refused.card) == ("", None)
    assert refused.server in study.toolcrib("peers", "list")
    assert refused.server not in study.toolcrib("approvals", "list", "--all", "--json")
    async with study.agent() as agent:
        served = [one["name"] for one in (await ask(agent, "list_mcp_servers"))["servers"]]
        assert [name for name in served if name.startswith("peer-")] == ["peer-kitchen"]
        assert not (await execute(agent, "peer-kitchen", "desk__echo", text="for kitchen")).is_error
    assert "for kitchen" in json.dumps(network.desk.received("tools/call"))
    assert desk.received("tools/call") == []
    assert study.states()["peer-kitchen"] == "trusted"


async def test_a_machine_that_takes_the_address_and_the_port_of_a_trusted_one_gets_no_call(
    network: Neighbourhood, tmp_path: Path
) -> None:
    kitchen, study = network.with_desk("kitchen"), network.machine("study")
    impostor, desk = impostor_of(network, tmp_path, prepared=True)
    meet(kitchen, study)

    kitchen.host.pull_cable()
    study.comes_to(kitchen="away")
    impostor.host.take_the_place_of(kitchen.host)
    impostor.start()
    impostor.wait_until_it_listens()
    assert impostor.port == kitchen.port
    study.comes_to(kitchen="refused")
    assert re.search(rf"WARNING .*{kitchen.peer_id}.* is refused", study.log)
    async with study.agent() as agent:
        error = failure(await execute(agent, "peer-kitchen", "desk__echo", text="for kitchen"))
        assert error["code"] == "PEER_REFUSED"
    assert desk.received("tools/call") == []

    impostor.host.pull_cable()
    kitchen.host.plug_in()
    study.comes_to(kitchen="trusted")
    assert study.peers()["peer-kitchen"].peer_id == kitchen.peer_id


def _is_refused(study: HostMachine, impostor: HostMachine) -> bool:
    return any(peer.peer_id == impostor.peer_id and peer.trouble for peer in study.peers().values())
