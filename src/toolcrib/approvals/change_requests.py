"""Asking a person about what changed in the definitions of a server that is in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolcrib.approvals.approvals import Approvals
from toolcrib.approvals.change import Change
from toolcrib.approvals.proposal import Proposal
from toolcrib.approvals.risk import assess_changes
from toolcrib.approvals.shown_launch import launch_without_secrets
from toolcrib.model.server import ServerSpec

FROM_READING = "reading"
# Why nothing is left to decide.
AGREED = "all that it offers now was agreed to"
REFUSED = "what changed is now as it was refused before"
_MOST_TRIES = 5


def ask_about(
    approvals: Approvals, spec: ServerSpec, review_key: str, changes: Sequence[Change], done: str = AGREED
) -> Proposal | None:
    """Let these changes wait for a person: in the request that waits already, else in a new one.

    Without any, what waited is withdrawn; `done` says why nothing is left to decide.
    """
    for _ in range(_MOST_TRIES):
        waiting = _waiting_for(approvals, spec, review_key)
        if waiting is not None:
            return _renewed(approvals, waiting, tuple(changes), done)
        if not changes:
            return None
        asked = _request(approvals, spec, review_key, tuple(changes), approvals.next_version(spec.name))
        if approvals.enter(asked, FROM_READING):
            return asked
    return None


def _waiting_for(approvals: Approvals, spec: ServerSpec, review_key: str) -> Proposal | None:
    """The request that waits about the definitions of a server.

    Two entries that differ in their token alone share what was agreed to, but each may be shown other tools.
    """
    waiting = approvals.all("pending", server=spec.name)
    return next((one for one in waiting if one.review_key == review_key), None)


def _renewed(approvals: Approvals, waiting: Proposal, changes: tuple[Change, ...], done: str) -> Proposal | None:
    if not changes:
        approvals.withdraw(waiting, done)
        return None
    fresh = replace(waiting, changes=changes, risk=assess_changes(changes))
    if not fresh.offers_the_same(waiting):
        approvals.renew(fresh)
    return fresh


def _request(
    approvals: Approvals, spec: ServerSpec, review_key: str, changes: tuple[Change, ...], version: int
) -> Proposal:
    launch = launch_without_secrets(spec.launch)
    return replace(
        approvals.new_request(spec.name, launch, FROM_READING),
        version=version,
        subject="tools",
        review_key=review_key,
        changes=changes,
        risk=assess_changes(changes),
    )
