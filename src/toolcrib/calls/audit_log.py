"""What is remembered of every call, and where it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

SUCCEEDED = "OK"
# The server asks something before it answers, and its client calls again with the answers.
INPUT_REQUIRED = "INPUT_REQUIRED"
# The server works on it as a task, and its client asks for the result later.
TASK_BEGUN = "TASK_BEGUN"
# Written before the call is sent, where nothing may run unwritten; small letters, since it is no call that ended.
STARTED = "started"
# What clients do besides calls, and is worth a line; small letters for the same reason.
SUBSCRIBED = "subscribed"
TASK_CANCELLED = "task_cancelled"
# The client was asked something and did not come back.
ABANDONED = "ABANDONED"
# Of a call with more arguments, the names of the others are left out.
MOST_ARGUMENT_NAMES = 64


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One execution, at the time it ended. It holds the names of the arguments and has no place for their values."""

    time: float
    caller: str
    face: str
    server: str
    tool: str
    argument_names: tuple[str, ...]
    outcome: str
    duration_ms: float
    argument_bytes: int
    result_bytes: int
    # How often the client was asked something for it.
    questions: int = 0
    # What the call does (read, write, destructive), what was decided about it and under whose rights; empty where unknown.
    effect: str = ""
    decision: str = ""
    rights: str = ""
    # The first characters of the fingerprint of the definition that was called.
    fingerprint: str = ""
    # What was suspicious about the call or its result.
    findings: str = ""
    # Why a person decided so.
    reason: str = ""
    # Its place in the log, once it is there.
    number: int = 0

    @property
    def is_call(self) -> bool:
        """Whether a tool was called: the log has approvals and registrations too, whose outcomes are small letters."""
        return self.outcome.isupper()

    @property
    def failed(self) -> bool:
        return self.outcome not in (SUCCEEDED, INPUT_REQUIRED, TASK_BEGUN)


class AuditLog(Protocol):
    """A lasting record of calls."""

    def append(self, record: AuditRecord) -> bool:
        """Keep one record; False where it can't be kept. Never raises."""
