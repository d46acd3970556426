"""A person decides about a peer: the same for `toolcrib peers` and `toolcrib approvals`. No file of theirs is edited."""

from __future__ import annotations

import argparse
import os

from toolcrib.approvals.proposal import Proposal
from toolcrib.cli.agreement import agreed, already, rejection_agreed
from toolcrib.cli.approval_text import as_json, print_proposal
from toolcrib.cli.exits import OK
from toolcrib.cli.opened_capabilities import Opened, person
from toolcrib.cli.output import Output
from toolcrib.config.paths import Paths
from toolcrib.engine.peer_trust import (
    PeerReview,
    ToolChanges,
    fingerprints,
    opened_peer_review,
    peer_of,
    tool_changes,
)
from toolcrib.model.peer import KnownPeer


def approve(options: argparse.Namespace, output: Output, door: Opened, proposal: Proposal) -> int:
    """`toolcrib approvals approve` for a proposal that is a peer."""
    with opened_peer_review(Paths.of(os.environ), door.capabilities.review) as peers:
        return trust(options, output, peers, proposal)


def reject(options: argparse.Namespace, output: Output, door: Opened, proposal: Proposal) -> int:
    """`toolcrib approvals reject` for a proposal that is a peer."""
    if not rejection_agreed(options, output, proposal):
        return OK
    with opened_peer_review(Paths.of(os.environ), door.capabilities.review) as peers:
        rejected = peers.reject(proposal, person(), options.reason)
    if output.as_json:
        output.json({"success": True, **as_json(rejected)})
    else:
        output.out.paragraph(f"{rejected.server} is rejected")
    return OK


def trust(options: argparse.Namespace, output: Output, peers: PeerReview, proposal: Proposal) -> int:
    """Show exactly what would be trusted, ask, and trust it."""
    peer = peers.store.peer(peer_of(proposal))
    if peer is not None and proposal.state == "approved" and _is_in_force(peer, proposal):
        return already(output, proposal)
    if not output.as_json:
        print_proposal(output.out, proposal)
        if peer is not None and peer.is_trusted:
            _print_changes(output, tool_changes(peer, proposal.definitions))
    if not agreed(options):
        output.note("nothing was approved")
        return OK
    approved = peers.approve(proposal, person(), options.reason)
    if output.as_json:
        output.json({"success": True, **as_json(approved)})
    else:
        output.out.write()
        output.out.paragraph(f"{approved.server} is trusted; {len(approved.definitions)} of its tools can be used")
    return OK


def _is_in_force(peer: KnownPeer, proposal: Proposal) -> bool:
    return peer.is_trusted and peer.pins == fingerprints(proposal.definitions)


def _print_changes(output: Output, changes: ToolChanges) -> None:
    output.out.write()
    for word, names in (("New", changes.new), ("Changed", changes.changed), ("Gone", changes.gone)):
        if names:
            output.out.paragraph(f"{word} since you trusted it: {', '.join(names)}", "  ")
