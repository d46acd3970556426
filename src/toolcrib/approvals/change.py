"""One difference between what a server offers and what was agreed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolcrib.model.finding import Finding
from toolcrib.model.pin import PinKey, PinnedKind

# first, cosmetic, warned: taken over, with a new pin. changed, new, hostile: waits. refused: a person said no before.
Verdict = Literal["same", "first", "cosmetic", "warned", "changed", "new", "hostile", "refused"]
WAITING: frozenset[Verdict] = frozenset({"changed", "new", "hostile"})


@dataclass(frozen=True, slots=True)
class Change:
    """One definition that is not the one that was agreed to, or that looks hostile."""

    kind: PinnedKind
    name: str
    verdict: Verdict
    fingerprint: str
    now: Mapping[str, Any] = field(repr=False)
    # As it was agreed to, in canonical JSON; empty where it is new.
    before: str = field(default="", repr=False)
    findings: tuple[Finding, ...] = ()
    renamed_from: str = ""

    @property
    def key(self) -> PinKey:
        return self.kind, self.name

    @property
    def waits(self) -> bool:
        return self.verdict in WAITING
