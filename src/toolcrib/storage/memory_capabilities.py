"""Proposals and registered capabilities in memory: for tests, and where the disk cannot be used."""

from __future__ import annotations

import threading
from collections.abc import Collection

from toolcrib.approvals.store import CapabilityRow, ProposalRow


class MemoryCapabilities:
    """Fulfils `CapabilityStore` for one process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._proposals: dict[str, ProposalRow] = {}
        self._capabilities: dict[str, CapabilityRow] = {}
        self._history: dict[str, list[CapabilityRow]] = {}

    def proposals(self, *, server: str | None = None, state: str | None = None) -> list[ProposalRow]:
        with self._lock:
            known = sorted(self._proposals.values(), key=lambda row: (row.requested_at, row.id))
        return [row for row in known if server in (None, row.server) and state in (None, row.state)]

    def newest_version(self, server: str) -> int:
        return max((row.version for row in self.proposals(server=server)), default=0)

    def proposal(self, id: str) -> ProposalRow | None:
        with self._lock:
            return self._proposals.get(id)

    def add_proposal(self, row: ProposalRow) -> bool:
        with self._lock:
            taken = {(other.server, other.version) for other in self._proposals.values()}
            if row.id in self._proposals or (row.server, row.version) in taken:
                return False
            self._proposals[row.id] = row
            return True

    def change_proposal(self, row: ProposalRow, *, was: str) -> bool:
        with self._lock:
            there = self._proposals.get(row.id)
            if there is None or there.state != was:
                return False
            self._proposals[row.id] = row
            return True

    def drop_old_proposals(self, server: str, states: Collection[str], *, keep: int) -> None:
        with self._lock:
            over = [row for row in self.proposals(server=server) if row.state in states]
            over.sort(key=lambda row: row.version, reverse=True)
            for row in over[keep:]:
                del self._proposals[row.id]

    def capabilities(self) -> list[CapabilityRow]:
        with self._lock:
            return [self._capabilities[id] for id in sorted(self._capabilities)]

    def capability(self, id: str) -> CapabilityRow | None:
        with self._lock:
            return self._capabilities.get(id)

    def save_capability(self, row: CapabilityRow, *, replaces: CapabilityRow | None) -> bool:
        with self._lock:
            if self._capabilities.get(row.id) != replaces:
                return False
            if replaces is not None:
                self._history.setdefault(row.id, []).append(replaces)
            self._capabilities[row.id] = row
            return True

    def remove_capability(self, id: str) -> bool:
        with self._lock:
            row = self._capabilities.pop(id, None)
            if row is not None:
                self._history.setdefault(id, []).append(row)
            return row is not None

    def capability_history(self, id: str) -> list[CapabilityRow]:
        with self._lock:
            return list(self._history.get(id, ()))

    def close(self) -> None:
        """Nothing to let go of."""
