"""docs/mission.md names what shows each requirement; here that page is held to its word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The lines of the seed documents that the gateway (A), the command line (B), the search (C) and the discovery service (D) own.
GATEWAY = (
    "147-195, 197-203, 205, 207-209, 211-213, 215, 217-244, 257-265, 267-299, 301-304, 307, 309-314, 335, 380-381, 383, "
    "386-387, 389-390, 394-395, 397-400, 402-403, 408-409, 413-428, 430-435, 437, 466-485, 487-491, 493, 499-501, "
    "503-505, 511-512"
)
COMMAND_LINE = "382, 384, 391-393, 405-407, 410-412, 438-465, 486, 492"
SEARCH = "204, 245-256, 305, 385, 388, 401, 404, 429, 496, 502"
DISCOVERY = "1-146, 315, 317-318, 320-326, 334, 336-341, 343, 347-360, 371-379, 508-509"
# The contradictions between the seed documents that are settled; 18 is about peers.
SETTLED = "1-17, 19-25"

ROW = re.compile(r"^\| (row )?(\d+) \| [^|]+ \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(test_\w+)::(test_\w+)`")
BENCH = re.compile(r"bench: `(bench/\w+\.py)`")
VERDICT = re.compile(r"bench: `bench/\w+\.py` \((?:met|missed: [^()]+|met: [^()]+)\)")
DEVIATION = re.compile(r"deviation: see decisions/0003 #(\d+)")

PAGE = (ROOT / "docs" / "mission.md").read_text(encoding="utf-8")


def numbers(ranges: str) -> list[int]:
    ends = (part.split("-") for part in ranges.split(", "))
    return [number for both in ends for number in range(int(both[0]), int(both[-1]) + 1)]


def listed(*, contradictions: bool) -> dict[int, str]:
    """Number and evidence of each row of the page."""
    rows = [(int(number), shown) for mark, number, shown in ROW.findall(PAGE) if bool(mark) is contradictions]
    assert len(dict(rows)) == len(rows), "a number is on the page twice"
    return dict(rows)


def without_evidence(cells: Iterable[str]) -> list[str]:
    return [cell for cell in cells if not any(kind.search(cell) for kind in (TEST, BENCH, DEVIATION))]


def test_every_line_that_is_owned_has_its_evidence() -> None:
    lines = listed(contradictions=False)

    owned = [number for part in (GATEWAY, COMMAND_LINE, SEARCH, DISCOVERY) for number in numbers(part)]
    assert sorted(lines) == sorted(owned)
    assert without_evidence(lines.values()) == []


def test_every_contradiction_that_is_settled_names_a_test_that_holds_the_choice() -> None:
    rows = listed(contradictions=True)

    assert sorted(rows) == numbers(SETTLED)
    # A benchmark fails nothing, and a deviation is only told: what was chosen is held by a test.
    assert [number for number, shown in rows.items() if not TEST.search(shown)] == []


def test_of_every_figure_that_a_benchmark_shows_the_page_says_whether_it_was_met() -> None:
    lines = [*listed(contradictions=False).items(), *listed(contradictions=True).items()]
    unsaid = [number for number, shown in lines if len(BENCH.findall(shown)) != len(VERDICT.findall(shown))]

    assert unsaid == []


def test_what_the_last_run_missed_is_missed_on_the_page_too() -> None:
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    memory = benchmarks.partition("### Memory")[2].partition("###")[0]

    told = {number: shown for number, shown in listed(contradictions=False).items() if "bench/memory.py" in shown}
    assert sorted(told) == [309]
    assert ("**MISSED**" in memory) == ("(missed: " in told[309])


def test_every_test_that_the_mission_page_names_exists() -> None:
    written = {
        (file.stem, name)
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert set(TEST.findall(PAGE)) - written == set()


def test_every_benchmark_and_deviation_that_the_mission_page_names_exists() -> None:
    deviations = (ROOT / "docs" / "decisions" / "0003-deviations.md").read_text(encoding="utf-8")

    assert all((ROOT / script).is_file() for script in BENCH.findall(PAGE))
    assert set(DEVIATION.findall(PAGE)) <= set(re.findall(r"^\| (\d+) \|", deviations, re.MULTILINE))
