"""A person's decision about changed definitions, and what follows from it."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager

from toolcrib.approvals.approvals import Approvals
from toolcrib.approvals.change import Change
from toolcrib.approvals.proposal import Proposal
from toolcrib.catalog.store import CatalogStore
from toolcrib.config.paths import Paths
from toolcrib.engine.open_catalog import open_store
from toolcrib.errors import ValidationError
from toolcrib.model.pin import Pin, PinKey
from toolcrib.trust.canonical import canonical, offered
from toolcrib.trust.review_key import review_key


class ChangeReview:
    """Decides requests about the definitions of servers in use."""

    def __init__(self, approvals: Approvals, store: CatalogStore) -> None:
        self._approvals = approvals
        self._store = store

    def approve(self, proposal: Proposal, by: str, reason: str = "") -> Proposal:
        """A person agrees to exactly what was shown; doing it twice is harmless."""
        if proposal.state != "approved":
            proposal = self._approvals.approve(proposal.id, by, reason, expected=proposal)
        # After the decision: what nobody agreed to must never be pinned.
        self._pin(proposal, proposal.changes, by)
        return proposal

    def approve_some(self, proposal: Proposal, wanted: Collection[PinKey], by: str, reason: str = "") -> Proposal:
        """A person agrees to these changes; the others wait on."""
        chosen = [change for change in proposal.changes if change.key in wanted]
        if missing := sorted(set(wanted) - {change.key for change in chosen}):
            raise ValidationError(f"{proposal.id} is not about {', '.join(' '.join(key).strip() for key in missing)}")
        if len(chosen) == len(proposal.changes):
            return self.approve(proposal, by, reason)
        left = self._approvals.accept_some(proposal, wanted, by, reason)
        self._pin(proposal, chosen, by)
        return left

    def _pin(self, proposal: Proposal, changes: Iterable[Change], by: str) -> None:
        at = time.time()
        pins = [Pin(one.kind, one.name, one.fingerprint, f"person:{by}", at, canonical(one.now)) for one in changes]
        self._store.decide_pins(proposal.review_key, proposal.server, add=pins, by=by, at=at)

    def reject(self, proposal: Proposal, by: str, reason: str = "") -> Proposal:
        """A person refuses: these definitions can't be used, and nobody is asked about them again."""
        refused = [change.fingerprint for change in proposal.changes]
        if proposal.may_become("rejected"):
            # Before the decision: what was refused must never stay pinned.
            self._store.decide_pins(proposal.review_key, proposal.server, refuse=refused, by=by, at=time.time())
        return self._approvals.reject(proposal.id, by, reason)


def pin_definitions(store: CatalogStore, proposal: Proposal, by: str) -> None:
    """Let exactly the tools of an approved server be used, whatever it lists when it is first read."""
    at = time.time()
    shown = [offered("tool", str(one.get("name")), one) for one in proposal.definitions]
    pins = [Pin(one.kind, one.name, one.fingerprint, f"person:{by}", at, one.text) for one in shown]
    store.decide_pins(review_key(proposal.spec), proposal.server, add=pins, by=by, at=at)


@contextmanager
def opened_change_review(approvals: Approvals) -> Iterator[ChangeReview]:
    """For a command."""
    with opened_store() as store:
        yield ChangeReview(approvals, store)


@contextmanager
def opened_store() -> Iterator[CatalogStore]:
    """The catalog, for a command."""
    with closing(open_store(Paths.of(os.environ))) as store:
        yield store
