"""What is remembered of every call, and where it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

SUCCEEDED = "OK"


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

    @property
    def is_call(self) -> bool:
        """Whether a tool was called: the log has approvals and registrations too, whose outcomes are small letters."""
        return self.outcome.isupper()

    @property
    def failed(self) -> bool:
        return self.outcome != SUCCEEDED


class AuditLog(Protocol):
    """A lasting record of calls."""

    def append(self, record: AuditRecord) -> None:
        """Keep one record; never raises, a call goes on even where it cannot be recorded."""
