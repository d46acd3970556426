"""What the run says: to the screen, to a log, and as figures for the model card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from training.figures import Figures
from training.pace import Clock


class Report:
    """Lines with their time, kept in a file as they come."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.clock = clock
        self._log = folder / "log.txt"
        self._figures = folder / "report.json"
        self._known: dict[str, Any] = {}

    def say(self, text: str, figures: Figures | None = None, seconds_a_step: float | None = None) -> None:
        cells = [f"{name} {own['ndcg']:.1f}/{own['hit']:.1f}" for name, own in (figures or {}).items()]
        pace = [f"{1000 * seconds_a_step:.0f} ms a step"] if seconds_a_step is not None else []
        line = "  ".join([f"{self.clock():6.1f} s", text, *cells, *pace])
        print(line, flush=True)
        with self._log.open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    def keep(self, **known: Any) -> None:
        """Add to what the model card will be made from."""
        self._known |= known
        self._figures.write_text(json.dumps(self._known, indent=2), encoding="utf-8")
