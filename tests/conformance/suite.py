"""One run of a conformance suite, and how it compares with what we expect of it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.servers.launch import Launch

EXPECTED = Path(__file__).with_name("expected.yml")
BOUND_SECONDS = 120.0
BAD = {"server": {"FAILURE"}, "client": {"FAILURE", "WARNING"}}  # as the suites themselves judge
_WHEN = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


@dataclass(frozen=True)
class Outcome:
    """The checks of each scenario that failed, by the scenario's name; none where it passed."""

    failed: Mapping[str, tuple[str, ...]]

    def row(self, suite: str, scored: Collection[str]) -> str:
        """The line of the table in docs/protocol.md."""
        counted = [checks for scenario, checks in self.failed.items() if not scored or scenario in scored]
        others = [checks for scenario, checks in self.failed.items() if scored and scenario not in scored]
        passed, more = (sum(not checks for checks in some) for some in (counted, others))
        return f"| {suite} | {passed} of {len(counted)} | {f'{more} of {len(others)}' if others else ''} |"

    def surprises(self, suite: str) -> list[str]:
        """What failed and is not expected to, and what is expected to fail and did not."""
        expected = expectations(suite)
        failing = {scenario: checks for scenario, checks in self.failed.items() if checks}
        news = [
            f"{scenario} fails: {', '.join(more)}"
            for scenario, checks in failing.items()
            if scenario not in expected
            and (more := [check for check in checks if f"{scenario}:{check}" not in expected])
        ]
        known = {*failing, *(f"{scenario}:{check}" for scenario, checks in failing.items() for check in checks)}
        return news + [
            f"{entry} does not fail any more: remove it from expected.yml" for entry in expected.keys() - known
        ]


def scored_scenarios(suite: Launch, side: str, revision: str) -> list[str]:
    """Those that count for a revision, which newer versions of the suite say; all of them where it says nothing."""
    (script,) = suite.args
    file = Path(script).parents[1] / "requirements" / f"{revision}.yaml"
    return list(yaml.safe_load(file.read_text(encoding="utf-8"))[side]) if file.exists() else []


def expectations(suite: str) -> dict[str, str]:
    """Scenarios, or single checks as `scenario:check`, that are expected to fail, with the reason."""
    return dict(yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))[suite] or {})


async def run_suite(suite: Launch, side: str, folder: Path, *arguments: str) -> Outcome:
    """Run a suite against one side, `server` or `client`; what it noted is in `folder`."""
    command = [suite.command, *suite.args, side, *arguments, "--output-dir", str(folder)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        async with asyncio.timeout(BOUND_SECONDS):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    failed = {scenario: _failed(checks, side) for scenario, checks in _noted(folder, side)}
    assert failed, said.decode(errors="replace")[-4_000:]
    return Outcome(failed)


def _noted(folder: Path, side: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for file in sorted(folder.rglob("checks.json")):
        name = _WHEN.sub("", file.parent.relative_to(folder).as_posix())
        yield name.removeprefix("server-") if side == "server" else name, json.loads(file.read_text(encoding="utf-8"))


def _failed(checks: list[dict[str, Any]], side: str) -> tuple[str, ...]:
    return tuple(sorted({check["id"] for check in checks if check["status"] in BAD[side]}))
