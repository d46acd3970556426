"""Proposals with their files: each change of a state is written to the catalog first, then shown as files."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from toolcrib.approvals.approvals import Approvals, ProposalRequest
from toolcrib.approvals.proposal import Proposal, State
from toolcrib.approvals.shown_launch import covered_launch
from toolcrib.ccos.export import CapabilityFiles, Folder
from toolcrib.ccos.from_tool import manifest_of
from toolcrib.ccos.manifest import ApprovalStatus, Manifest, public_address
from toolcrib.errors import ConfigurationError
from toolcrib.model.tool import Tool

log = logging.getLogger(__name__)

# Where a proposal of each state is shown, and from where it then has to go.
_FOLDERS: Mapping[State, tuple[Folder, tuple[Folder, ...]]] = {
    "pending": ("pending", ("rejected",)),
    "approved": ("approved", ("pending", "rejected")),
    "rejected": ("rejected", ("pending",)),
}
_STATUS: Mapping[State, ApprovalStatus] = {"pending": "pending", "approved": "approved"}


class Review:
    """Where proposals are made and decided; files that can't be written never undo a decision."""

    def __init__(self, approvals: Approvals, files: CapabilityFiles) -> None:
        self.approvals = approvals
        self._files = files

    def propose(self, request: ProposalRequest, by: str) -> Proposal:
        self._sweep()
        proposal = self.approvals.propose(request, by)
        self._project(proposal)
        return proposal

    def approve(self, id: str, by: str, reason: str = "", *, expected: Proposal | None = None) -> Proposal:
        """A person agrees: the files move to `approved`, those of a version before it to `archived`."""
        before = self.approvals.approved()
        approved = self.approvals.approve(id, by, reason, expected=expected)
        earlier = before.get(approved.server)
        if earlier is not None and earlier.id != approved.id:
            with _logged():
                self._files.archive(earlier.server, earlier.version)
        self._project(approved)
        return approved

    def show_tools(self, proposal: Proposal, definitions: Sequence[Mapping[str, Any]]) -> None:
        """Write the files of an approved server whose tools could only be read once it was approved."""
        self._project(replace(proposal, definitions=tuple(definitions)))

    def reject(self, id: str, by: str, reason: str = "") -> Proposal:
        """A person refuses: the files move to `rejected`."""
        rejected = self.approvals.reject(id, by, reason)
        if rejected.server not in self.approvals.approved():
            with _logged():
                self._files.remove("approved", rejected.server)
        self._project(rejected)
        return rejected

    def _sweep(self) -> None:
        for proposal in self.approvals.all("expired"):
            if proposal.subject == "server" and not self._is_waiting(proposal.server):
                with _logged():
                    self._files.remove("pending", proposal.server)

    def _is_waiting(self, server: str) -> bool:
        waiting = (one for one in self.approvals.all("pending") if one.subject == "server")
        return any(proposal.server == server for proposal in waiting)

    def _project(self, proposal: Proposal) -> None:
        """Show a proposal in the folder of its state, made from the catalog and not from the files of another."""
        folder, others = _FOLDERS[proposal.state]
        with _logged():
            for other in others:
                self._files.remove(other, proposal.server)
            self._files.write(folder, proposal.server, manifests_of(proposal), facts_of(proposal))


@contextmanager
def _logged() -> Iterator[None]:
    """The files only show what the catalog says: whatever keeps us from writing them is logged."""
    try:
        yield
    except ConfigurationError as trouble:
        log.warning("%s", trouble.message)


def manifests_of(proposal: Proposal) -> list[Manifest]:
    """The capabilities a proposed server would bring."""
    status = _STATUS.get(proposal.state, "revoked")
    return [
        manifest_of(Tool(proposal.server, str(definition.get("name")), definition), proposal.spec, status=status)
        for definition in proposal.definitions
    ]


def facts_of(proposal: Proposal) -> dict[str, Any]:
    """What is known of a proposed server, for `server.json`: files get passed on, so credentials are left out of it.

    Nobody decides by these files: `toolcrib approvals` shows the exact launch.
    """
    decision = proposal.decision
    return {
        "title": proposal.title,
        "description": proposal.description,
        "address": public_address(proposal.launch, proposal.server),
        "launch": covered_launch(proposal.launch),
        "source": proposal.source,
        "auth_env_var": proposal.auth_env_var,
        "risk": {"level": proposal.risk.level, "reasons": list(proposal.risk.reasons)},
        "note": proposal.note,
        "approval": {
            "approval_id": proposal.id,
            "server_id": proposal.server,
            "version": proposal.version,
            "state": proposal.state,
            "requested_at": proposal.requested_at,
            "decided_by": decision.by if decision else "",
            "decided_at": decision.at if decision else None,
        },
    }
