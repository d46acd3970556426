"""A person's decision about changed definitions, and what follows from it."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager

from toolcrib.approvals.approvals import Approvals
from toolcrib.approvals.change import Change
from toolcrib.approvals.proposal import Decision, Proposal, State
from toolcrib.catalog.store import CatalogStore
from toolcrib.config.paths import Paths
from toolcrib.engine.open_catalog import open_store
from toolcrib.errors import ApprovalRefused, ValidationError
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
            self._approvals.approve(proposal.id, by, reason, expected=proposal)
        # After the decision: what nobody agreed to must never be pinned.
        return _still(self._carried_out(proposal), "approved")

    def approve_some(self, proposal: Proposal, wanted: Collection[PinKey], by: str, reason: str = "") -> Proposal:
        """A person agrees to these changes; the others wait on."""
        chosen = [change for change in proposal.changes if change.key in wanted]
        if missing := sorted(set(wanted) - {change.key for change in chosen}):
            raise ValidationError(
                f"{proposal.id} has no change of {', '.join(' '.join(key).strip() for key in missing)}"
            )
        if len(chosen) == len(proposal.changes):
            return self.approve(proposal, by, reason)
        self._approvals.accept_some(proposal, wanted, by, reason)
        left = self._carried_out(proposal)
        return left if all(_agreement(left, change) for change in chosen) else _still(left, "approved")

    def reject(self, proposal: Proposal, by: str, reason: str = "") -> Proposal:
        """A person refuses: these definitions can't be used, and nobody is asked about them again."""
        refused = [change.fingerprint for change in proposal.changes]
        if proposal.may_become("rejected"):
            # Before the decision: what was refused must never stay pinned.
            self._store.decide_pins(proposal.review_key, proposal.server, refuse=refused, by=by, at=time.time())
        try:
            self._approvals.reject(proposal.id, by, reason)
        finally:
            now = self._carried_out(proposal)
        return _still(now, "rejected")

    def _carried_out(self, shown: Proposal) -> Proposal:
        """Let what can be used be what the request says by now; others may decide it at the same moment.

        Everybody looks again after writing: whoever writes last has seen the last decision.
        """
        now = self._approvals.get(shown.id)
        while True:
            self._write(now, shown.changes)
            before, now = now, self._approvals.get(shown.id)
            if (now.state, now.accepted) == (before.state, before.accepted):
                return now

    def _write(self, now: Proposal, shown: Iterable[Change]) -> None:
        at = time.time()
        known = {change.fingerprint: change for change in (*now.changes, *shown)}.values()
        pins = [_pin(change, decision.by, at) for change in known if (decision := _agreement(now, change))]
        refused = [change.fingerprint for change in now.changes] if now.state == "rejected" else []
        if pins or refused:
            by = now.decision.by if now.decision else ""
            self._store.decide_pins(now.review_key, now.server, add=pins, refuse=refused, by=by, at=at)


def _agreement(now: Proposal, change: Change) -> Decision | None:
    """Who agrees to a definition by what a request says now."""
    offered = (change.kind, change.name, change.fingerprint)
    if now.state == "approved" and offered in now.definitions_asked_about:
        return now.decision
    return next((one.decision for one in now.accepted if offered in one.definitions), None)


def _pin(change: Change, by: str, at: float) -> Pin:
    return Pin(change.kind, change.name, change.fingerprint, f"person:{by}", at, canonical(change.now))


def _still(now: Proposal, wanted: State) -> Proposal:
    """The request, if it is what it was just decided to be."""
    if now.state != wanted:
        hint = f"`toolcrib approvals show {now.id}` says what holds."
        raise ApprovalRefused(f"{now.id} was decided by someone else at the same moment: it is {now.state}", hint=hint)
    return now


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
