"""When what we know of a server is too old."""

from __future__ import annotations

from dataclasses import dataclass

from toolcrib.catalog.store import ServerRecord
from toolcrib.model.server import ServerSpec

# A server may call its list stale at once (ttl 0); asking it again on every need would wake it all the time.
SHORTEST_TTL_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Freshness:
    """The server's own time to live is honoured, with a floor; without one, `default_ttl_seconds` holds."""

    default_ttl_seconds: float = 24 * 3600.0

    def is_due(self, spec: ServerSpec, record: ServerRecord | None, now: float) -> bool:
        if record is None or record.read_at is None:
            return True
        return record.launch_fingerprint != spec.launch_fingerprint() or self.is_old(record, now)

    def is_old(self, record: ServerRecord, now: float) -> bool:
        """Whether a reading has outlived its time; one from the future (a clock was set back) has."""
        if record.read_at is None:
            return False
        return not 0 <= now - record.read_at <= self._ttl(record)

    def _ttl(self, record: ServerRecord) -> float:
        if record.ttl_seconds is None:
            return self.default_ttl_seconds
        return min(max(record.ttl_seconds, SHORTEST_TTL_SECONDS), self.default_ttl_seconds)
