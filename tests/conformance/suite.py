"""One run of a conformance suite, and how it compares with what we expect of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.servers.launch import Launch

EXPECTED = Path(__file__).with_name("expected.yml")
BOUND_SECONDS = 120.0
BAD = {"server": {"FAILURE"}, "client": {"FAILURE", "WARNING"}}  # as the suites themselves judge
MOST_AGAIN = 3
OLD, NEW = "2025-11-25", "2026-07-28"
# The words for a run of each version of the suite at each revision, and for one scenario of it.
RUNS = {("0.1", OLD): ("--suite", "all"), ("0.2", OLD): ("--requirements", OLD), ("0.2", NEW): ("--requirements", NEW)}
ALONE = {("0.1", OLD): (), **{("0.2", one): ("--spec-version", one, "--force") for one in (OLD, NEW)}}
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

    def unexpected(self, suite: str) -> list[str]:
        """The scenarios that failed and are not expected to, or not in this way."""
        expected = expectations(suite)
        return [
            scenario
            for scenario, checks in self.failed.items()
            if scenario not in expected and any(f"{scenario}:{check}" not in expected for check in checks)
        ]

    def surprises(self, suite: str) -> list[str]:
        """What failed and is not expected to, and what is expected to fail and did not."""
        expected = expectations(suite)
        failing = {scenario: checks for scenario, checks in self.failed.items() if checks}
        news = [f"{scenario} fails: {', '.join(failing[scenario])}" for scenario in self.unexpected(suite)]
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


@dataclass(frozen=True)
class Run:
    """A suite and the side that it looks at, `server` or `client`; what it notes is left in `folder`."""

    suite: Launch
    side: str
    version: str
    revision: str
    folder: Path
    target: tuple[str, ...]

    async def outcome(self, name: str) -> Outcome:
        """What failed, once all were run; a failure that is news is looked at once more, alone.

        Some scenarios have a clock running, and a busy machine is late; what is broken fails again.
        """
        seen = await self._run(self.folder / "all", *RUNS[self.version, self.revision])
        assert len(seen) > 1, f"no scenarios were run; see {self.folder}"
        for scenario in Outcome(seen).unexpected(name)[:MOST_AGAIN]:
            alone = ("--scenario", scenario, *ALONE[self.version, self.revision])
            seen.update(await self._run(self.folder / "again" / scenario.replace("/", "-"), *alone))
        return Outcome(seen)

    async def _run(self, folder: Path, *what: str) -> dict[str, tuple[str, ...]]:
        command = [self.suite.command, *self.suite.args, self.side, *self.target, *what, "--output-dir", str(folder)]
        folder.mkdir(parents=True)
        with (folder / "said.txt").open("wb") as said:
            process = await asyncio.create_subprocess_exec(*command, stdout=said, stderr=said)
        try:
            async with asyncio.timeout(BOUND_SECONDS):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return {scenario: _failed(checks, self.side) for scenario, checks in _noted(folder, self.side)}


def _noted(folder: Path, side: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for file in sorted(folder.rglob("checks.json")):
        name = _WHEN.sub("", file.parent.relative_to(folder).as_posix())
        yield name.removeprefix("server-") if side == "server" else name, json.loads(file.read_text(encoding="utf-8"))


def _failed(checks: list[dict[str, Any]], side: str) -> tuple[str, ...]:
    return tuple(sorted({check["id"] for check in checks if check["status"] in BAD[side]}))
