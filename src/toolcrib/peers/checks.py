"""When each peer is asked whether it is there."""

from __future__ import annotations

# After each failure in a row; from then on at the usual times.
RETRY_SECONDS = (1.0, 2.0, 3.0, 4.0, 5.0)
# The same for one that never answered, and the last of them from then on: anybody can announce many that are not there, and
# each time they are asked takes as long as it may.
HEARSAY_SECONDS = (1.0, 10.0, 60.0, 600.0)
_LEAST_SECONDS = 1.0


class Checks:
    """One time for each peer; never two checks of one peer within a second, however often it is announced."""

    def __init__(self, check_seconds: float) -> None:
        self._check_seconds = check_seconds
        self._next: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._failures: dict[str, int] = {}

    def configure(self, check_seconds: float) -> None:
        self._check_seconds = check_seconds
        self._next.clear()  # all are due, and then at the new times

    def is_due(self, peer_id: str, now: float) -> bool:
        return now >= self._next.get(peer_id, now)

    def soon(self, peer_id: str, now: float) -> None:
        """There is news of it: ask as soon as it may be asked again."""
        self._next[peer_id] = max(now, self._started.get(peer_id, now - _LEAST_SECONDS) + _LEAST_SECONDS)

    def started(self, peer_id: str, now: float) -> None:
        self._started[peer_id] = now
        self._next[peer_id] = now + self._check_seconds

    def answered(self, peer_id: str, now: float) -> None:
        self._failures.pop(peer_id, None)
        self._next[peer_id] = now + self._check_seconds

    def failed(self, peer_id: str, now: float, *, is_hearsay: bool = False) -> None:
        failures = self._failures[peer_id] = self._failures.get(peer_id, 0) + 1
        waits, usual = (HEARSAY_SECONDS, HEARSAY_SECONDS[-1]) if is_hearsay else (RETRY_SECONDS, self._check_seconds)
        wait = waits[failures - 1] if failures <= len(waits) else usual
        self._next[peer_id] = now + wait

    def forget(self, peer_id: str) -> None:
        for times in (self._next, self._started):
            times.pop(peer_id, None)
        self._failures.pop(peer_id, None)
