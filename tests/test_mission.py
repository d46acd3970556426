"""`mission.md` names what shows each promise; here that table is held to its word."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The numbers of the promises whose time has come, by the part that keeps them.
GATEWAY = (
    "147-195, 197-203, 205-209, 211-213, 215, 217-244, 257-265, 267-304, 306-314, 335, 380-381, 383, 386-387, 389-390, "
    "394-395, 397-400, 402-403, 408-409, 413-428, 430-435, 437, 466-485, 487-491, 493-495, 497-501, 503-505, 511-512"
)
COMMAND_LINE = "382, 384, 391-393, 405-407, 410-412, 438-465, 486, 492"
SEARCH = "204, 245-256, 305, 385, 388, 401, 404, 429, 496, 502"
DISCOVERY = "1-146, 315, 317-318, 320-326, 334, 336-341, 343, 347-360, 371-379, 508-509"
PASSED_THROUGH = "196, 214, 216, 266, 396, 436"
TRUST = "210, 506-507"
PEERS = "316, 319, 327-333, 342, 344-346, 361-370, 510"
# The contradictions between the documents that are settled.
SETTLED = "1-25"

ROW = re.compile(r"^\| (c?\d[^|]*) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"\btest_\w+")
CONTRACT = re.compile(r'\bcontract "([^"]+)"')
BENCH = re.compile(r"\bbench/\w+\.py")
VERDICT = re.compile(r"bench/\w+\.py \((?:met|missed: [^()]+|met: [^()]+)\)")
DEVIATION = re.compile(r"\bdeviation (\d+)")

TABLE = (ROOT / "tests" / "mission.md").read_text(encoding="utf-8")


def numbers(ranges: str) -> list[int]:
    ends = (part.split("-") for part in ranges.split(", "))
    return [number for both in ends for number in range(int(both[0]), int(both[-1]) + 1)]


def listed(*, contradictions: bool) -> dict[int, str]:
    """What shows each promise, or each choice between two that contradict each other."""
    rows = [
        (given.replace("c", ""), shown) for given, _, shown in ROW.findall(TABLE) if ("c" in given) is contradictions
    ]
    each = [(number, shown) for given, shown in rows for number in numbers(given)]
    assert len(dict(each)) == len(each), "a number is in the table twice"
    return dict(each)


def test_every_promise_names_what_shows_it() -> None:
    promises = listed(contradictions=False)

    owned = [
        number
        for part in (GATEWAY, COMMAND_LINE, SEARCH, DISCOVERY, PASSED_THROUGH, TRUST, PEERS)
        for number in numbers(part)
    ]
    assert sorted(promises) == sorted(owned)
    kinds = (TEST, CONTRACT, BENCH, DEVIATION)
    assert [number for number, shown in promises.items() if not any(kind.search(shown) for kind in kinds)] == []


def test_every_contradiction_that_is_settled_names_a_test_that_holds_the_choice() -> None:
    rows = listed(contradictions=True)

    assert sorted(rows) == numbers(SETTLED)
    # A benchmark fails nothing, and a deviation is only told: what was chosen is held by a test.
    assert [number for number, shown in rows.items() if not TEST.search(shown)] == []


def test_of_every_figure_that_a_benchmark_shows_the_table_says_whether_it_was_met() -> None:
    unsaid = [row for *row, shown in ROW.findall(TABLE) if len(BENCH.findall(shown)) != len(VERDICT.findall(shown))]

    assert unsaid == []


def test_what_the_last_run_missed_is_missed_in_the_table_too() -> None:
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    memory = benchmarks.partition("### Memory")[2].partition("###")[0]

    told = {number: shown for number, shown in listed(contradictions=False).items() if "bench/memory.py" in shown}
    assert sorted(told) == [309]
    assert ("**MISSED**" in memory) == ("(missed: " in told[309])


def test_which_targets_the_last_run_missed_is_the_same_in_the_table_and_on_the_page() -> None:
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    section = benchmarks.partition("### Targets")[2].partition("###")[0]

    told = {number: shown for number, shown in listed(contradictions=False).items() if "bench/targets.py" in shown}
    assert sorted(told) == numbers("206, 300, 306, 308, 494-495, 497-498")
    assert sum("(missed: " in shown for shown in told.values()) == section.count("**MISSED**")


def test_every_test_that_the_table_names_exists() -> None:
    written = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    named = {name for *_, shown in ROW.findall(TABLE) for name in TEST.findall(shown)}

    assert len(named) > 400
    assert named - written == set()


def test_every_contract_benchmark_and_deviation_that_the_table_names_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["name"] for contract in project["tool"]["importlinter"]["contracts"]}
    deviations = (ROOT / "docs" / "decisions" / "0003-deviations.md").read_text(encoding="utf-8")

    assert set(CONTRACT.findall(TABLE)) <= contracts
    assert all((ROOT / script).is_file() for script in BENCH.findall(TABLE))
    assert set(DEVIATION.findall(TABLE)) <= set(re.findall(r"^\| (\d+) \|", deviations, re.MULTILINE))
