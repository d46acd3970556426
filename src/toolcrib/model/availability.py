"""Whether a tool may be used, and if not, why: one value that every face and every check looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolcrib.errors import ToolChanged, ToolcribError, ToolDisabled, ToolPending

State = Literal["enabled", "fallback", "disabled", "changed", "pending"]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a tool can be used; `reason` says why not, or why so.

    enabled: found, listed and callable.
    fallback: a stand-in for a tool of a server that could not be read; callable, but no search finds it.
    disabled: a rule, the server's entry or the caller's rights keep it away.
    changed: its definition is another than the one that was reviewed.
    pending: nobody has approved it yet.
    """

    state: State = "enabled"
    reason: str = ""

    @property
    def is_callable(self) -> bool:
        return self.state in ("enabled", "fallback")

    @property
    def is_searchable(self) -> bool:
        """Whether a search may find it at all; what is not callable is found only by those who ask for it."""
        return self.state != "fallback"

    def refusal(self, tool_id: str) -> ToolcribError | None:
        """The error for a call of this tool, or None where it may be called."""
        if self.state not in _REFUSALS:
            return None
        error, words, hint = _REFUSALS[self.state]
        return error(f"{tool_id} {words}: {self.reason}", hint=hint)


ENABLED = Availability()

_ONLY_A_PERSON = "Only the person who runs this gateway can enable it; look for another tool with search_tools."
_REVIEW = "A person has to look at it first: `toolcrib approvals`."
_REFUSALS: Mapping[State, tuple[type[ToolcribError], str, str]] = {
    "disabled": (ToolDisabled, "is disabled", _ONLY_A_PERSON),
    "changed": (ToolChanged, "has changed since it was reviewed", _REVIEW),
    "pending": (ToolPending, "is not approved yet", _REVIEW),
}
