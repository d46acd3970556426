"""stats: how much was called, how well that went, and what that saved."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.machine import TOOLS, Machine
from tests.cli.recorded_calls import a_call, record
from tests.server.agent_tokens import compact, count
from toolcrib.server.definitions import META_TOOLS

SERVERS = ("github", "filesystem", "database")
CLIENTS = ("claude-code", "cursor", "zed")
OUTCOMES = ("OK", "OK", "OK", "OK", "TOOL_EXECUTION_ERROR", "TOOL_EXECUTION_TIMEOUT")


@pytest.fixture
def busy(seeded: Machine) -> Machine:
    """A machine on which three clients called a lot, in the last week and before it."""
    chance, now = random.Random(7), time.time()
    calls = [
        a_call(
            f"tool{chance.randrange(4)}",
            server=chance.choice(SERVERS),
            client=chance.choice(CLIENTS),
            outcome=chance.choice(OUTCOMES),
            at=now - 10 * 86_400 * (1 - (number + 0.5) / 400),
            took=round(chance.expovariate(1 / 80), 3),
        )
        for number in range(400)
    ]
    record(seeded, calls, max_bytes=25_000)
    return seeded


def all_calls(machine: Machine, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = machine.run("calls", "--json", "-n", "100000", *arguments).json["calls"]
    return found


def expected(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """The same figures, worked out the plain way from what `calls` shows."""
    times = sorted(call["durationMs"] for call in calls)
    errors = Counter(call["outcome"] for call in calls if call["outcome"] != "OK")
    return {
        "calls": len(calls),
        "failed": sum(errors.values()),
        "errors": dict(errors),
        "medianMs": next(time for time in times if sum(one <= time for one in times) >= 0.5 * len(times)),
        "p95Ms": next(time for time in times if sum(one <= time for one in times) >= 0.95 * len(times)),
    }


def named(by: str, call: dict[str, Any]) -> str:
    return f"{call['server']}:{call['tool']}" if by == "tool" else str(call[by])


@pytest.mark.parametrize("since", [(), ("--since", "3d"), ("--since", "30d")])
@pytest.mark.parametrize("by", ["server", "tool", "client"])
def test_the_figures_are_those_of_the_calls_that_are_shown(by: str, since: tuple[str, ...], busy: Machine) -> None:
    calls = all_calls(busy, *(since or ("--since", "7d")))
    stats = busy.run("stats", "--json", "--by", by, *since).json

    assert len(calls) > 100
    assert {name: stats[name] for name in expected(calls)} == expected(calls)
    groups = {group.pop("name"): group for group in stats["groups"]}
    assert groups == {
        name: expected([call for call in calls if named(by, call) == name])
        for name in {named(by, call) for call in calls}
    }
    assert [group["calls"] for group in groups.values()] == sorted(
        (group["calls"] for group in groups.values()), reverse=True
    )


def test_the_words_say_the_same_as_the_json(busy: Machine) -> None:
    stats, out = busy.run("stats", "--by", "client", "--json").json, busy.run("stats", "--by", "client").out

    assert re.match(rf"{stats['calls']} calls since \d{{4}}-\d\d-\d\d \d\d:\d\d, {stats['failed']} failed\.", out)
    rows = {row[0]: row for line in out.splitlines() if len(row := re.split(r"\s{2,}", line)) == 6}
    assert set(rows) == {"CLIENT", "all", *CLIENTS}
    for group in stats["groups"]:
        assert rows[group["name"]][1:3] == [str(group["calls"]), str(group["failed"])]
        assert all(f"{code} {number}" in rows[group["name"]][5] for code, number in group["errors"].items())


def numbers(text: str) -> Iterator[int]:
    return (int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", text))


def test_the_tokens_saved_are_shown_with_their_formula_and_are_about_what_a_tokenizer_counts(seeded: Machine) -> None:
    seeded.fill({**TOOLS, "github": [*TOOLS["github"], *({**TOOLS["github"][0], "name": f"t{n}"} for n in range(60))]})
    tokens = seeded.run("stats", "--json").json["tokens"]
    out = seeded.run("stats").out

    loaded = [*TOOLS["filesystem"], *TOOLS["github"], *({**TOOLS["github"][0], "name": f"t{n}"} for n in range(60))]
    keys = ("name", "description", "inputSchema")
    counted = sum(count(compact({key: tool[key] for key in keys})) for tool in loaded)
    own = sum(count(compact({key: tool[key] for key in keys})) for tool in META_TOOLS)
    assert tokens["toolCount"] == len(loaded)
    assert tokens["serverCount"] == 2
    assert tokens["definitions"] == pytest.approx(counted, rel=0.2)
    assert tokens["own"] == pytest.approx(own + 250, rel=0.2)
    assert tokens["saved"] == tokens["definitions"] - tokens["own"]
    said = list(numbers(out.partition("Tokens saved")[2]))
    assert said[:2] == [tokens["saved"], tokens["definitions"]]
    assert {tokens["own"], tokens["searching"], tokens["reading"], tokens["searching"] + tokens["reading"]} <= set(said)
    assert "(an estimate)" in out
    assert "not been read yet: 1 server" in out


def test_tools_that_are_called_decide_what_reading_one_costs(seeded: Machine) -> None:
    before = seeded.run("stats", "--json").json["tokens"]["reading"]
    record(seeded, [a_call("create_issue", server="github", at=time.time())])

    assert seeded.run("stats", "--json").json["tokens"]["reading"] > before


def test_a_machine_on_which_nothing_happened_says_so(machine: Machine) -> None:
    ran = machine.run("stats")

    assert ran.code == 0
    assert "No call has been recorded since" in ran.out
    assert "no server has been read" in ran.out
    assert machine.run("stats", "--json").json["calls"] == 0


@pytest.mark.parametrize("arguments", [["--by", "weather"], ["--since", "soon"]])
def test_a_grouping_or_time_that_nobody_knows_is_refused(arguments: list[str], machine: Machine) -> None:
    assert machine.run("stats", *arguments).code == 1
