"""Whether a tool may be used, and if not, why: one value that every face and every check looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolcrib.errors import ToolChanged, ToolcribError, ToolDisabled, ToolPending, ToolQuarantined
from toolcrib.model.shell_words import shell_word

State = Literal["enabled", "fallback", "disabled", "withheld", "changed", "pending", "quarantined"]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a tool can be used; `reason` says why not, or why so. What is disabled may be `unreviewed` as well.

    What nobody agreed to waits for a person, unless they have `rejected` it as it is.

    enabled: found, listed and callable.
    fallback: a stand-in for a tool of a server that could not be read; callable, but no search finds it.
    disabled: a rule or the server's entry keep it away.
    withheld: it is not for this caller, and in none of its lists.
    changed: its definition is another than the one that was reviewed.
    pending: nobody has approved it yet.
    quarantined: its definition looks hostile.
    """

    state: State = "enabled"
    reason: str = ""
    unreviewed: bool = False
    rejected: bool = False

    @property
    def is_callable(self) -> bool:
        return self.state in ("enabled", "fallback")

    @property
    def is_searchable(self) -> bool:
        """Whether a search may find it at all; what is disabled is found only by those who ask for it.

        The words of what nobody agreed to are not for agents.
        """
        return self.state in ("enabled", "disabled") and not self.unreviewed

    @property
    def is_there(self) -> bool:
        """Whether it is in lists at all, if only in those of what may not be used."""
        return self.state != "withheld"

    @property
    def hides_words(self) -> bool:
        """Whether nobody agreed to what its definition says."""
        return self.unreviewed or self.is_unreviewed

    @property
    def is_unreviewed(self) -> bool:
        """Whether it is kept away since nobody agreed to it."""
        return self.state in ("changed", "pending", "quarantined")

    @property
    def waits(self) -> bool:
        """Whether a person has to look at it first."""
        return self.is_unreviewed and not self.rejected

    def refusal(self, tool_id: str) -> ToolcribError | None:
        """The error for a call of this tool, or None where it may be called."""
        if self.state not in _REFUSALS:
            return None
        error, words, hint = _REFUSALS[self.state]
        if self.rejected:
            words, hint = "can't be used", _THINK_BETTER.format(shell_word(tool_id))
        return error(f"{tool_id} {words}: {self.reason}", hint=hint)


ENABLED = Availability()

_ONLY_A_PERSON = "Only the person who runs this gateway can enable it; look for another tool with search_tools."
# An agent reads these: they say whom to ask, and nothing that gets around the review.
_REVIEW = "Ask the person who runs this gateway to look at it: `toolcrib approvals`."
_THINK_BETTER = "Only the person who runs this gateway can change that: `toolcrib approvals why {}` tells how."
_REFUSALS: Mapping[State, tuple[type[ToolcribError], str, str]] = {
    "disabled": (ToolDisabled, "is disabled", _ONLY_A_PERSON),
    "withheld": (ToolDisabled, "is disabled", _ONLY_A_PERSON),
    "changed": (ToolChanged, "can't be used", _REVIEW),
    "pending": (ToolPending, "can't be used", _REVIEW),
    "quarantined": (ToolQuarantined, "can't be used", _REVIEW),
}
