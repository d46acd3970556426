"""An audit log of which others hear too, for as long as they want."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from toolcrib.calls.audit_log import AuditLog, AuditRecord

Hear = Callable[[AuditRecord], None]


class HeardAudit:
    """Fulfils `AuditLog`: keeps each record where it belongs, then tells those who listen."""

    def __init__(self, log: AuditLog) -> None:
        self._log = log
        self._ears: list[Hear] = []

    def append(self, record: AuditRecord) -> bool:
        is_kept = self._log.append(record)
        for hear in self._ears:
            hear(record)
        return is_kept

    @contextmanager
    def heard_by(self, hear: Hear) -> Iterator[None]:
        """Tell somebody of every call that ends while the block lasts; they must not raise."""
        self._ears.append(hear)
        try:
            yield
        finally:
            self._ears.remove(hear)
