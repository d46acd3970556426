"""What the catalog keeps of proposals and registered capabilities, and what any store of them must offer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """A proposed server and the state of its approval; `body` is JSON."""

    id: str
    server: str
    version: int
    state: str
    requested_at: float
    body: str


@dataclass(frozen=True, slots=True)
class CapabilityRow:
    """A registered capability; `body` is JSON, times are unix seconds."""

    id: str
    version: str
    body: str
    registered_at: float


class CapabilityStore(Protocol):
    """Proposals and registrations on some medium, shared by several processes.

    Every method may raise `StoreUnavailable`; a write that raised it changed nothing.
    """

    def proposals(self, *, server: str | None = None, state: str | None = None) -> list[ProposalRow]:
        """All of them, or those about one server or in one state, oldest first."""

    def newest_version(self, server: str) -> int:
        """The highest version of a proposal about this server; 0 where there is none."""

    def proposal(self, id: str) -> ProposalRow | None: ...

    def add_proposal(self, row: ProposalRow) -> bool:
        """Enter a proposal; False where its id, or its server and version, are taken."""

    def change_proposal(self, row: ProposalRow, *, was: str) -> bool:
        """Replace the state and body of a proposal, if its state still is `was`."""

    def drop_old_proposals(self, server: str, states: Collection[str], *, keep: int) -> None:
        """Remove the proposals about a server in one of these states, but for those with the highest versions."""

    def capabilities(self) -> list[CapabilityRow]:
        """All that are registered, by id."""

    def capability(self, id: str) -> CapabilityRow | None: ...

    def save_capability(self, row: CapabilityRow, *, replaces: CapabilityRow | None) -> bool:
        """Register a capability; what it replaces goes to its history. False where that is no longer what is there."""

    def remove_capability(self, id: str) -> bool:
        """Take a capability out, keeping it in the history; False where it was not there."""

    def capability_history(self, id: str) -> list[CapabilityRow]:
        """The versions that were replaced or removed, oldest first."""

    def close(self) -> None:
        """Let go of the medium; closing twice is harmless."""
