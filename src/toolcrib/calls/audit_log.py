"""What is remembered of every call, and where it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One execution. It holds the names of the arguments and has no place for their values."""

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


class AuditLog(Protocol):
    """A lasting record of calls."""

    def append(self, record: AuditRecord) -> None:
        """Keep one record; never raises, a call goes on even where it cannot be recorded."""
