"""What can be counted of an engine while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager

from toolcrib.calls.heard_audit import Hear, HeardAudit


class EngineFigures:
    """Fulfils `Figures` for all workspaces of an engine."""

    def __init__(
        self, audit: HeardAudit, running: Callable[[], Iterable[object]], states: Callable[[], Mapping[str, str]]
    ) -> None:
        self._audit = audit
        self._running = running
        self._states = states

    def running_calls(self) -> int:
        return sum(1 for _ in self._running())

    def servers_by_state(self) -> Mapping[str, int]:
        return Counter(self._states().values())

    def heard_by(self, hear: Hear) -> AbstractContextManager[None]:
        return self._audit.heard_by(hear)
