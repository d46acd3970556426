"""What an agent pays for the counter, in tokens of o200k_base."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.server.agent_tokens import agent_before, compact, count
from tests.server.everyday_tools import RESULTS, SERVERS
from toolcrib.model.server import ServerSpec, StdioLaunch

PROGRAM = Path(__file__).with_name("canned_server.py")
NEW_ISSUE = {"repo": "acme/shop", "title": "Crash on start", "body": "It crashes when there is no configuration file."}
QUERIES = (
    "create a github issue",
    "read a file",
    "which issues are open?",
    "find a time when everybody is free",
    "merge the pull request",
    "how many orders were there last week, from the database",
    "tell the team in the chat",
    "rename a folder",
    "search for a function in the code",
    "comment on an issue",
)


@pytest.fixture
def servers(tmp_path: Path) -> list[ServerSpec]:
    """Five everyday servers as real processes."""
    return [_canned(tmp_path, name) for name in SERVERS]


def _canned(folder: Path, name: str) -> ServerSpec:
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"tools": SERVERS[name], "results": RESULTS}), encoding="utf-8")
    return ServerSpec(name, StdioLaunch(sys.executable, ("-I", "-S", str(PROGRAM), str(file))))


async def test_five_definitions_and_instructions_stay_under_600_tokens(servers: Sequence[ServerSpec]):
    async with agent_before(servers) as agent:
        assert agent.opening < 600


async def test_five_definitions_with_their_hints_for_clients_stay_under_600_tokens(servers: Sequence[ServerSpec]):
    async with agent_before(servers) as agent:
        assert agent.definitions < 600


async def test_five_definitions_and_instructions_reach_the_aim_of_450_tokens(servers: Sequence[ServerSpec]):
    async with agent_before(servers) as agent:
        assert agent.opening <= 450


async def test_many_servers_with_the_longest_names_stay_under_600_tokens_too(tmp_path: Path):
    github = _canned(tmp_path, "github")
    names = [f"{number:02}-{'knowledge-of-the-accounting-department-and-its-archives-':.<61}" for number in range(14)]

    async with agent_before([ServerSpec(name, github.launch) for name in names]) as agent:
        assert agent.opening < 600


async def test_details_of_a_tool_with_three_short_parameters_stay_under_100_tokens(servers: Sequence[ServerSpec]):
    async with agent_before(servers) as agent:
        answer = json.loads(await agent.use("get_tool_details", server="github", tool="create_issue"))

    assert [parameter["name"] for parameter in answer["parameters"]] == ["repo", "title", "body"]
    counted = {name: value for name, value in answer.items() if name not in {"examples", "returns"}}
    assert count(compact(counted)) < 100


async def test_a_default_search_answer_is_200_tokens_at_most_in_the_median(servers: Sequence[ServerSpec]):
    async with agent_before(servers) as agent:
        answers = [await agent.use("search_tools", query=query) for query in QUERIES]

    assert statistics.median(map(count, answers)) <= 200
    assert all(json.loads(answer)["results"] for answer in answers)


async def test_no_default_search_answer_takes_more_than_200_tokens_however_many_tools_fit(tmp_path: Path):
    parts = ("draft", "overdue", "recurring", "disputed", "foreign", "archived", "paid", "shared", "printed", "scanned")
    tools = [
        {
            "name": f"{verb}_{part}_invoice",
            "description": f"{verb.title()} a {part} invoice of a customer, with its lines, taxes, discounts and payments, "
            f"in the ledger of the company that issued it, for accountants who look after {part} invoices every month",
            "inputSchema": {"type": "object", "properties": {"customer": {"type": "string"}}},
        }
        for verb in ("create", "update", "delete", "send", "find")
        for part in parts
    ]
    file = tmp_path / "ledger.json"
    file.write_text(json.dumps({"tools": tools, "results": {}}), encoding="utf-8")
    ledger = ServerSpec("ledger", StdioLaunch(sys.executable, ("-I", "-S", str(PROGRAM), str(file))))

    async with agent_before([ledger]) as agent:
        answers = [await agent.use("search_tools", query=f"{verb} an invoice") for verb in ("create", "find", "send")]
        unbounded = await agent.use("search_tools", query="create an invoice", limit=50)

    assert count(unbounded) > 1_000  # there is plenty that would fit
    assert [count(answer) for answer in answers if count(answer) > 200] == []
    assert all(len(json.loads(answer)["results"]) >= 3 for answer in answers)


async def test_a_journey_with_one_tool_takes_950_tokens_at_most(servers: Sequence[ServerSpec]):
    async with agent_before(servers) as agent:
        await agent.find_read_and_run("github issue create", "github", "create_issue", NEW_ISSUE)

    assert agent.spent <= 950


async def test_a_journey_with_two_tools_takes_1600_tokens_at_most(servers: Sequence[ServerSpec]):
    async with agent_before(servers) as agent:
        await agent.find_read_and_run("read file", "filesystem", "read_file", {"path": "README.md"})
        await agent.find_read_and_run("create github issue", "github", "create_issue", NEW_ISSUE)

    assert agent.spent <= 1_600


async def test_a_journey_costs_less_than_loading_every_definition(servers: Sequence[ServerSpec]):
    everything = sum(count(compact(tools)) for tools in SERVERS.values())
    async with agent_before(servers) as agent:
        await agent.find_read_and_run("github issue create", "github", "create_issue", NEW_ISSUE)

    assert agent.spent < everything
