"""Machines on hosts of their own: they find each other, use each other's tools, and notice who is gone and who is back."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from mcp import Client

from tests.journeys.stdio_gateway import ask, execute, failure
from tests.peers.host_machines import Neighbourhood, comes_true, meet, succeeds, wait_until

ECHO = "peer-kitchen", "desk__echo"
pytestmark = pytest.mark.timeout(150)


async def shown(agent: Client) -> set[str]:
    return {one["name"] for one in (await ask(agent, "list_mcp_servers"))["servers"]}


def test_three_hosts_find_each_other_and_one_searches_and_runs_a_tool_of_another(network: Neighbourhood) -> None:
    kitchen, study, garden = network.with_desk("kitchen"), network.machine("study"), network.machine("garden")
    kitchen.comes_to(study="waiting", garden="waiting")
    garden.comes_to(study="waiting", kitchen="waiting")
    study.comes_to(kitchen="waiting", garden="waiting")
    study.knows(kitchen)
    assert "peer-kitchen" not in study.toolcrib("list", "--json")
    assert "peer-kitchen  waiting" in study.toolcrib("peers", "list")

    assert "is trusted" in study.toolcrib("peers", "trust", "kitchen", "-y")
    assert "is trusted" in kitchen.toolcrib("peers", "trust", "study", "-y")
    kitchen.comes_to(study="trusted")

    (hit, *_) = json.loads(study.toolcrib("search", "repeat a text", "--json"))["results"]
    assert (hit["server"], hit["tool"]) == ("peer-kitchen", "desk__echo")
    milk = "execute", "peer-kitchen", "desk__echo", "text=milk"
    wait_until(lambda: "milk" in study.try_toolcrib(*milk).stdout, lambda: study.log)
    assert [one["params"]["arguments"] for one in network.desk.received("tools/call")] == [{"text": "milk"}]
    assert "peer-kitchen" not in garden.toolcrib("list", "--json")


async def test_a_pulled_cable_ends_a_call_that_is_under_way_and_the_peer_is_back_with_the_cable(
    network: Neighbourhood,
) -> None:
    kitchen, study = network.with_desk("kitchen", "echo", "wait"), network.machine("study")
    meet(kitchen, study)
    async with study.agent() as agent:
        await comes_true(lambda: succeeds(agent, *ECHO), study)
        waiting = asyncio.create_task(execute(agent, "peer-kitchen", "desk__wait"))
        await comes_true(lambda: asyncio.to_thread(lambda: len(network.desk.received("tools/call")) > 1), study)

        kitchen.host.pull_cable()
        started = time.monotonic()
        error = failure(await waiting)
        assert time.monotonic() - started < 15
        assert error["code"] == "SERVER_CONNECTION_ERROR"
        assert "Outcome unknown" in error["hint"]
        study.comes_to(kitchen="away")

        kitchen.host.plug_in()
        study.comes_to(kitchen="trusted")
        network.desk.let_go()
        await comes_true(lambda: succeeds(agent, *ECHO), study)


async def test_a_call_of_another_process_ends_too_when_the_cable_is_pulled_and_its_place_is_free_again(
    network: Neighbourhood,
) -> None:
    """Nobody tells that process that the peer is away, nor the peer that the caller is: it moves to another address."""
    kitchen, study = network.with_desk("kitchen", "echo", "hang", maxCalls=1), network.machine("study")
    meet(kitchen, study)
    async with study.agent() as agent:
        await comes_true(lambda: succeeds(agent, *ECHO), study)
    with study.begun("execute", "peer-kitchen", "desk__hang", "--json") as calling:
        wait_until(lambda: "hang" in json.dumps(network.desk.received("tools/call")), lambda: study.log)
        study.host.move_to("10.77.0.77")
        out, _ = await asyncio.to_thread(calling.communicate, timeout=25)
    error = json.loads(out)["error"]
    assert error["code"] == "SERVER_CONNECTION_ERROR"
    assert "Outcome unknown" in error["hint"]
    # The kitchen writes a word now and then, and only the first that nobody hears counts: that takes longer.
    async with study.agent() as agent:
        await comes_true(lambda: succeeds(agent, *ECHO), study, 45)


async def test_a_killed_machine_is_away_and_back_with_its_key_on_another_port(network: Neighbourhood) -> None:
    kitchen, study = network.with_desk("kitchen"), network.machine("study")
    meet(kitchen, study)
    async with study.agent() as agent:
        await comes_true(lambda: succeeds(agent, *ECHO), study)
        first = kitchen.peer_id, kitchen.port

        kitchen.kill()
        study.comes_to(kitchen="away")
        kitchen.configure(port=first[1] + 1)
        kitchen.start()
        study.comes_to(kitchen="trusted")
        await comes_true(lambda: succeeds(agent, *ECHO), study)

    assert (kitchen.peer_id, kitchen.port) == (first[0], first[1] + 1)
    assert list(study.peers()) == ["peer-kitchen"]
    assert study.peers()["peer-kitchen"].addresses[0] == kitchen.address


async def test_tools_of_a_machine_that_is_gone_too_long_are_withdrawn_and_shown_again_when_it_is_back(
    network: Neighbourhood,
) -> None:
    kitchen, study = network.with_desk("kitchen"), network.machine("study", peers={"staleAfter": 4})
    meet(kitchen, study)
    async with study.agent() as agent:
        await comes_true(lambda: _is_shown(agent), study)

        kitchen.host.pull_cable()
        await comes_true(lambda: _is_hidden(agent), study)
        study.comes_to(kitchen="stale")
        assert "desk__echo" not in json.dumps(await ask(agent, "search_tools", query="repeat a text"))
        assert failure(await execute(agent, "peer-kitchen", "desk__echo", text="x"))["code"] == "SERVER_NOT_FOUND"

        kitchen.host.plug_in()
        await comes_true(lambda: _is_shown(agent), study)
        await comes_true(lambda: succeeds(agent, *ECHO), study)


async def test_a_tool_that_one_machine_offers_from_now_on_is_heard_of_on_the_other(network: Neighbourhood) -> None:
    # Checks are rare here: what is heard in time was told.
    kitchen, study = (
        network.with_desk("kitchen", checkInterval=60),
        network.machine("study", peers={"checkInterval": 60}),
    )
    meet(kitchen, study)

    kitchen.configure(expose=["desk:echo", "desk:weather"])
    wait_until(lambda: study.tools_of("kitchen") == {"desk__echo", "desk__weather"}, lambda: study.log, 15)

    async with study.agent() as agent:
        await comes_true(lambda: succeeds(agent, *ECHO), study)
        await comes_true(lambda: _is_refused(agent, "desk__weather", "TOOL_PENDING"), study)
        study.trust("kitchen")
        await comes_true(lambda: succeeds(agent, "peer-kitchen", "desk__weather"), study)


async def test_nobody_gets_through_one_machine_to_a_third_nor_to_what_is_not_offered(network: Neighbourhood) -> None:
    kitchen = network.with_desk("kitchen")
    study = network.machine("study", peers={"expose": ["*", "peer-kitchen", "peer-kitchen:*"]})
    garden = network.machine("garden")
    study.knows(kitchen)
    for one, others in ((kitchen, ["study"]), (study, ["kitchen", "garden"]), (garden, ["study"])):
        one.comes_to(**dict.fromkeys(others, "waiting"))
        for other in others:
            one.trust(other)
    async with study.agent() as agent:
        await comes_true(lambda: succeeds(agent, *ECHO), study)

    async with garden.agent() as agent:
        await comes_true(lambda: _is_shown(agent, "peer-study"), garden)
        for name in ("peer-kitchen__desk__echo", "desk__echo", "peer-kitchen:desk__echo", "execute_tool"):
            assert (await execute(agent, "peer-study", name, text="relayed")).is_error
        assert (await execute(agent, "peer-kitchen", "desk__echo", text="relayed")).is_error

    assert "relayed" not in json.dumps(network.desk.facts)
    assert garden.tools_of("study") == set()


async def _is_shown(agent: Client, server: str = "peer-kitchen") -> bool:
    return server in await shown(agent)


async def _is_hidden(agent: Client) -> bool:
    return "peer-kitchen" not in await shown(agent)


async def _is_refused(agent: Client, tool: str, code: str) -> bool:
    return failure(await execute(agent, "peer-kitchen", tool))["code"] == code
