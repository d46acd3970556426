"""Whoever holds the lock may write: our own file, clients' files, the journal and its backups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolcrib.adoption.steps import Placing, Step, take_all


@dataclass(frozen=True, slots=True)
class Writer:
    """Only a site that is locked hands one out, so that no two processes write at the same time."""

    placing: Placing

    def take(self, steps: Iterable[Step], *, then: Iterable[Step] = ()) -> None:
        """Take the steps, and those of `then` once the others hold; all of them or none."""
        take_all(steps, then=then, placing=self.placing)
