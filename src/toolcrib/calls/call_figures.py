"""How many calls there were, how they ended and how long they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from toolcrib.calls.audit_log import AuditRecord


@dataclass(frozen=True, slots=True)
class CallFigures:
    """Of a group of calls, failed ones included: their number, errors by code, and times in milliseconds."""

    calls: int
    errors: Mapping[str, int]
    median_ms: float
    p95_ms: float

    @property
    def failed(self) -> int:
        return sum(self.errors.values())


def figures(calls: Sequence[AuditRecord]) -> CallFigures:
    """The codes of errors come by their number, the most frequent first; without a call the times are 0."""
    errors = Counter(call.outcome for call in calls if call.failed)
    times = sorted(call.duration_ms for call in calls)
    return CallFigures(len(calls), dict(errors.most_common()), _share(times, 0.5), _share(times, 0.95))


def figures_by(calls: Iterable[AuditRecord], name_of: Callable[[AuditRecord], str]) -> dict[str, CallFigures]:
    """The same for each name, the most used first."""
    groups: dict[str, list[AuditRecord]] = {}
    for call in calls:
        groups.setdefault(name_of(call), []).append(call)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return {name: figures(group) for name, group in ordered}


def _share(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[ceil(len(ordered) * share) - 1] if ordered else 0.0
