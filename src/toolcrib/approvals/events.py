"""What the audit log records when capabilities and approvals change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Happening = Literal[
    "capability_registered",
    "capability_updated",
    "capability_removed",
    "approval_requested",
    "approval_approved",
    "approval_rejected",
    "approval_expired",
    "approval_superseded",
    "definition_accepted",
]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened; `subject` is the id of a capability or a proposal, or the name of a definition.

    `reason` is why it was decided so, in the words of whoever decided.
    """

    what: Happening
    at: float
    by: str
    server: str
    subject: str
    reason: str = ""


Tell = Callable[[Event], None]


def nobody(_: Event) -> None:
    """For whoever keeps no record."""
