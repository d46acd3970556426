"""All that was measured, kept as JSON so that a later run can be compared with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.search_quality.measure import Run


@dataclass
class Results:
    """`resources` and the three after it are keyed by ranker (and set); see the modules that measure them."""

    runs: list[Run] = field(default_factory=list)
    resources: dict[str, dict[str, float]] = field(default_factory=dict)
    nothing_fits: dict[str, dict[str, float]] = field(default_factory=dict)
    reliability: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, dict[str, float]] = field(default_factory=dict)

    def find(self, set_name: str, ranker: str, *, typos: bool = False) -> Run | None:
        wanted = (set_name, ranker, typos)
        return next((run for run in self.runs if (run.set, run.ranker, run.typos) == wanted), None)

    def take_over(self, earlier: Results) -> None:
        """Add what an earlier run measured and this one did not; runs only where they asked the same queries."""
        asked = {(run.set, run.typos): run.digest for run in self.runs}
        for run in earlier.runs:
            same = asked.get((run.set, run.typos), run.digest) == run.digest
            if same and self.find(run.set, run.ranker, typos=run.typos) is None:
                self.runs.append(run)
        self.resources = {**earlier.resources, **self.resources}
        self.nothing_fits = {**earlier.nothing_fits, **self.nothing_fits}
        self.reliability = self.reliability or earlier.reliability
        self.answers = {**earlier.answers, **self.answers}

    def write(self, file: Path) -> None:
        content = {**vars(self), "runs": [run.as_json() for run in self.runs]}
        file.write_text(json.dumps(content) + "\n", encoding="utf-8")


def read_results(files: Iterable[Path]) -> Results:
    """Several files as one; the first that has a figure gives it."""
    found = Results()
    for file in files:
        content = json.loads(file.read_text("utf-8"))
        found.take_over(Results(**{**content, "runs": [Run(**run) for run in content["runs"]]}))
    return found
