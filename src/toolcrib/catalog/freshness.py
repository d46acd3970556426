"""When what we know of a server is too old, and when a server that can't be read is tried again."""

from __future__ import annotations

from dataclasses import dataclass

from toolcrib.catalog.store import ServerRecord
from toolcrib.model.server import ServerSpec

# A server may call its list stale at once (ttl 0); asking it again on every need would wake it all the time.
SHORTEST_TTL_SECONDS = 300.0
FIRST_RETRY_SECONDS = 30.0
# Beyond this many doublings every wait is as long as it may get.
_MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class Freshness:
    """The server's own time to live is honoured, with a floor; without one, `default_ttl_seconds` holds.

    After each further failure the next try comes twice as late, but no later than `longest_retry_seconds`.
    """

    default_ttl_seconds: float = 24 * 3600.0
    longest_retry_seconds: float = 600.0

    def is_due(self, spec: ServerSpec, record: ServerRecord | None, now: float) -> bool:
        if record is None or record.read_at is None:
            return True
        return record.launch_key != spec.launch_key or self.is_old(record, now)

    def is_old(self, record: ServerRecord, now: float) -> bool:
        """Whether a reading has outlived its time, or somebody expired it; one from the future (a clock was set back) has."""
        if record.read_at is None:
            return False
        return record.expired or not 0 <= now - record.read_at <= self._ttl(record)

    def seconds_to_retry(self, record: ServerRecord, now: float) -> float:
        """How long a server whose last reading failed should still be left alone."""
        doublings = min(max(record.failures - 1, 0), _MOST_DOUBLINGS)
        wait = min(FIRST_RETRY_SECONDS * 2.0**doublings, self.longest_retry_seconds)
        left = (record.error_at or 0.0) + wait - now
        return min(max(0.0, left), wait)  # more is left only where a clock was set back

    def _ttl(self, record: ServerRecord) -> float:
        if record.ttl_seconds is None:
            return self.default_ttl_seconds
        return min(max(record.ttl_seconds, SHORTEST_TTL_SECONDS), self.default_ttl_seconds)
