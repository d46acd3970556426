"""Proposals of servers and what persons decide about them; nothing here launches anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from toolcrib.approvals.events import Event, Happening, Tell, nobody
from toolcrib.approvals.proposal import Accepted, Decision, Proposal, State, from_row, to_row
from toolcrib.approvals.risk import assess
from toolcrib.approvals.store import CapabilityStore, ProposalRow
from toolcrib.config.dangerous_variables import set_by
from toolcrib.config.names import nearest, slug
from toolcrib.errors import ApprovalNotFound, ApprovalRefused
from toolcrib.model.pin import PinKey
from toolcrib.model.server import BUILT_IN_SERVER, Launch, ServerSpec, StdioLaunch
from toolcrib.model.shell_words import shell_word

EXPIRY_SECONDS = 168 * 3600.0
MOST_PENDING = 100
# Of one server, the newest: nobody can decide them any more, and a server that keeps changing makes many. The audit log has all.
MOST_OVER = 20
MOST_DEFINITION_BYTES = 4 * 1024 * 1024
MOST_CHARACTERS = 2_000
AUTOMATIC = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest:
    """What is proposed: how the server is launched, and what is known of it."""

    name: str
    launch: Launch
    source: str
    description: str = ""
    auth_env_var: str = ""
    goal: str = ""
    note: str = ""
    definitions: Sequence[Mapping[str, Any]] = ()
    server_info: Mapping[str, Any] | None = None


class Approvals:
    """The record of proposals. Only a caller that speaks for a person may call `approve` and `reject`."""

    def __init__(
        self,
        store: CapabilityStore,
        *,
        now: Callable[[], float],
        new_id: Callable[[], str],
        configured: Callable[[], Mapping[str, ServerSpec]] = dict,
        tell: Tell = nobody,
        expiry_seconds: float = EXPIRY_SECONDS,
    ) -> None:
        self._store = store
        self._now = now
        self._new_id = new_id
        self._configured = configured
        self._tell = tell
        self._expiry_seconds = expiry_seconds

    # -- looking

    def all(self, state: State | None = None, *, server: str | None = None) -> list[Proposal]:
        """Proposals, oldest first; pending ones that are too old have expired by then."""
        # Those that expire just now are pending still.
        stored_as = None if state == "expired" else state
        known = [self._expired_if_old(proposal) for proposal in self._read(server=server, state=stored_as)]
        return [proposal for proposal in known if state in {None, proposal.state}]

    def get(self, id: str) -> Proposal:
        """One proposal by its id; or of a server by its name the pending one, else the newest that can still be decided."""
        row = self._store.proposal(id)
        if row is not None:
            return self._expired_if_old(_readable(row))
        named = self.all(server=id)
        if not named:
            known = [word for proposal in self.all() for word in (proposal.id, proposal.server)]
            raise ApprovalNotFound(
                f"there is no approval request {id!r}",
                hint="`toolcrib approvals list --all` shows all of them.",
                nearest=[close] if (close := nearest(id, known)) else [],
            )
        return max(named, key=_importance)

    def approved(self) -> dict[str, Proposal]:
        """The proposal in force of each approved server."""
        return {one.server: one for one in self._read(state="approved") if one.subject == "server"}

    def next_version(self, server: str) -> int:
        """The version of the next proposal about a server of this name, whatever it says of it."""
        return self._store.newest_version(server) + 1

    # -- proposing

    def propose(self, request: ProposalRequest, by: str) -> Proposal:
        """Enter a proposal as pending; one that waits already for the same launch is renewed instead."""
        _refuse_dangerous(request.launch)
        request = replace(request, launch=_with_a_folder(request.launch))
        # Read once: each of them may hold megabytes of definitions.
        known = [proposal for proposal in self.all() if proposal.subject == "server"]
        server = self._free_name(request, known)
        earlier = [proposal for proposal in known if proposal.server == server]
        self._refuse_rejected(request, earlier)
        waiting = next((proposal for proposal in earlier if proposal.state == "pending"), None)
        if waiting is not None:
            return self._renewed(waiting, request)
        if sum(proposal.state == "pending" for proposal in known) >= MOST_PENDING:
            raise ApprovalRefused(
                f"{MOST_PENDING} proposals are already waiting for a decision",
                hint="A person has to decide some of them first: `toolcrib approvals list`.",
            )
        proposal = self._proposal(request, server, self._new_id(), self.next_version(server))
        # If it can't be entered, another process has entered one for this server at the same moment.
        return proposal if self.enter(proposal, by) else self.propose(request, by)

    def enter(self, proposal: Proposal, by: str) -> bool:
        """Let a proposal wait for a person; False where its server and version are taken."""
        if not self._store.add_proposal(to_row(proposal)):
            return False
        self._happened("approval_requested", proposal, by)
        return True

    def renew(self, proposal: Proposal) -> None:
        """Let a waiting proposal say something else."""
        self._store.change_proposal(to_row(proposal), was="pending")

    def withdraw(self, proposal: Proposal, reason: str) -> None:
        """Nothing is left to decide; whoever decided it at the same moment did so."""
        with suppress(ApprovalRefused):
            self._moved(proposal, "superseded", Decision(AUTOMATIC, self._now(), reason))

    def new_request(self, server: str, launch: Launch, source: str) -> Proposal:
        """What waits for a person from now on, still to be filled in and entered."""
        now = self._now()
        return Proposal(self._new_id(), server, launch, source, now, now + self._expiry_seconds)

    # -- deciding

    def approve(self, id: str, by: str, reason: str = "", *, expected: Proposal | None = None) -> Proposal:
        """A person agrees to the exact launch and tools; an approved version before it is superseded.

        `expected` is the proposal as the person saw it: where it has changed since, nothing is approved.
        """
        proposal = self.get(id)
        earlier = self._in_force_beside(proposal)
        if expected is not None:
            _refuse_if_other(proposal, expected)
        approved = self._decide(proposal, "approved", by, reason)
        if earlier is not None:
            self._supersede(earlier, approved, by)
        return approved

    def accept_some(self, shown: Proposal, chosen: Collection[PinKey], by: str, reason: str = "") -> Proposal:
        """A person agrees to some of the changes that a request is about; the others wait on."""
        proposal = self.get(shown.id)
        _refuse_if_other(proposal, shown)
        if proposal.state != "pending":
            raise ApprovalRefused(f"{proposal.id} is {proposal.state}", hint=_deciding_all(proposal))
        agreed = [one for one in proposal.changes if one.key in chosen]
        decision = Decision(by, self._now(), reason[:MOST_CHARACTERS])
        accepted = Accepted(decision, tuple((one.kind, one.name, one.fingerprint) for one in agreed))
        left = replace(
            proposal,
            changes=tuple(one for one in proposal.changes if one.key not in chosen),
            accepted=(*proposal.accepted, accepted),
        )
        self._write(left, was="pending")
        for one in agreed:
            self._tell(Event("definition_accepted", decision.at, by, proposal.server, one.name, decision.reason))
        return left

    def reject(self, id: str, by: str, reason: str = "") -> Proposal:
        """A person refuses, or takes back what was approved."""
        return self._decide(self.get(id), "rejected", by, reason)

    # -- inside

    def _read(self, *, server: str | None = None, state: State | None = None) -> list[Proposal]:
        found = []
        for row in self._store.proposals(server=server, state=state):
            # One that a newer Toolcrib wrote in its own way is left to it.
            with suppress(msgspec.DecodeError):
                found.append(from_row(row))
        return found

    def _in_force_beside(self, proposal: Proposal) -> Proposal | None:
        """The approved proposal that another one about the same takes the place of."""
        about = _about(proposal)
        in_force = self._read(server=proposal.server, state="approved")
        return next((one for one in in_force if one.id != proposal.id and _about(one) == about), None)

    def _expired_if_old(self, proposal: Proposal) -> Proposal:
        now = self._now()
        if proposal.state != "pending" or now < proposal.expires_at:
            return proposal
        with suppress(ApprovalRefused):
            return self._moved(proposal, "expired", Decision(AUTOMATIC, now))
        # Another process has moved it at the same moment.
        row = self._store.proposal(proposal.id)
        return proposal if row is None else _readable(row)

    def _decide(self, proposal: Proposal, state: State, by: str, reason: str) -> Proposal:
        return self._moved(proposal, state, Decision(by, self._now(), reason[:MOST_CHARACTERS]))

    def _supersede(self, earlier: Proposal, later: Proposal, by: str) -> None:
        superseded = replace(earlier, superseded_by=later.version)
        self._moved(superseded, "superseded", Decision(by, self._now()))

    def _moved(self, proposal: Proposal, state: State, decision: Decision) -> Proposal:
        if not proposal.may_become(state):
            raise ApprovalRefused(
                f"{proposal.id} is {proposal.state} and can't become {state}",
                hint=_asking_again(proposal) if proposal.state in _OVER else "",
            )
        moved = proposal.moved(state, decision)
        self._write(moved, was=proposal.state)
        self._happened(_HAPPENINGS[state], moved, decision.by, decision.reason)
        if state in _OVER:
            self._store.drop_old_proposals(moved.server, _OVER, keep=MOST_OVER)
        return moved

    def _write(self, proposal: Proposal, *, was: State) -> None:
        if not self._store.change_proposal(to_row(proposal), was=was):
            raise ApprovalRefused(f"{proposal.id} was decided by someone else meanwhile", hint="Look at it again.")

    def _renewed(self, waiting: Proposal, request: ProposalRequest) -> Proposal:
        """The waiting proposal with what was learnt since; its time does not begin anew."""
        fresh = self._proposal(request, waiting.server, waiting.id, waiting.version)
        fresh = replace(fresh, requested_at=waiting.requested_at, expires_at=waiting.expires_at)
        if waiting.was_read and not fresh.was_read:
            return waiting
        self.renew(fresh)
        return fresh

    def _proposal(self, request: ProposalRequest, server: str, id: str, version: int) -> Proposal:
        now = self._now()
        definitions = _bounded(request.definitions)
        left_out = len(request.definitions) - len(definitions)
        note = f"{left_out} more tools are too large to be kept for review" if left_out else request.note
        return Proposal(
            id=id,
            server=server,
            version=version,
            launch=request.launch,
            source=request.source,
            requested_at=now,
            expires_at=now + self._expiry_seconds,
            title=request.name[:MOST_CHARACTERS] if request.name != server else "",
            description=request.description[:MOST_CHARACTERS],
            auth_env_var=request.auth_env_var,
            goal=request.goal[:MOST_CHARACTERS],
            note=note[:MOST_CHARACTERS],
            definitions=definitions,
            server_info=dict(request.server_info or {}),
            risk=assess(request.launch, definitions),
        )

    def _free_name(self, request: ProposalRequest, known: Sequence[Proposal]) -> str:
        """A name no other server has: a proposal never speaks for a server that a person configured."""
        configured, wanted = self._configured(), slug(request.name)
        ours = {one.server: _with_a_folder(one.launch) for one in known if one.state not in _OVER}
        approved = {proposal.server for proposal in known if proposal.state == "approved"}
        for number in range(1, MOST_PENDING * 10):
            name = wanted if number == 1 else f"{wanted[:58]}-{number}"
            if name.lower() == BUILT_IN_SERVER or _is_other(ours.get(name), request.launch):
                continue
            if name in configured and name not in approved:
                if _with_a_folder(configured[name].launch) == request.launch:
                    raise ApprovalRefused(f"{name!r} is already configured", hint="Use it: no approval is needed.")
                continue
            return name
        raise ApprovalRefused(f"too many servers are called {wanted!r}", hint="Propose it under another name.")

    def _refuse_rejected(self, request: ProposalRequest, earlier: Sequence[Proposal]) -> None:
        newest = max(earlier, key=lambda proposal: proposal.version, default=None)
        if newest is None or newest.state != "rejected" or newest.launch != request.launch:
            return
        # Of a server in use only those tools were rejected; it may have others by now.
        is_in_use = any(proposal.state == "approved" for proposal in earlier)
        if not is_in_use or newest.definitions == tuple(request.definitions):
            raise ApprovalRefused(
                f"a person has rejected this server ({newest.id})",
                hint=f"Only a person can change that: `toolcrib approvals approve {newest.id}`.",
            )

    def _happened(self, what: Happening, proposal: Proposal, by: str, reason: str = "") -> None:
        self._tell(Event(what, self._now(), by, proposal.server, proposal.id, reason))


_HAPPENINGS: Mapping[State, Happening] = {
    "approved": "approval_approved",
    "rejected": "approval_rejected",
    "expired": "approval_expired",
    "superseded": "approval_superseded",
}


_OVER = frozenset({"expired", "superseded"})


def _importance(proposal: Proposal) -> tuple[bool, bool, int]:
    return proposal.state == "pending", proposal.state not in _OVER, proposal.version


def _deciding_all(proposal: Proposal) -> str:
    """What can be done about a request of which nothing can be chosen any more."""
    if proposal.may_become("approved"):
        return f"`toolcrib approvals approve {proposal.id}`, which names no part of it, approves all of it."
    return _asking_again(proposal) if proposal.state in _OVER else ""


def _asking_again(proposal: Proposal) -> str:
    if proposal.subject == "tools":
        return f"`toolcrib discover {shell_word(proposal.server)}` reads the server, and asks anew about what still differs."
    return "Have the server proposed again."


def _refuse_if_other(proposal: Proposal, shown: Proposal) -> None:
    if not proposal.offers_the_same(shown):
        raise ApprovalRefused(
            f"{proposal.id} was not approved: it changed after it was shown; look at it again",
            hint=f"`toolcrib approvals show {proposal.id}` shows it as it is now.",
        )


def _about(proposal: Proposal) -> tuple[str, str, str]:
    return proposal.subject, proposal.server, proposal.review_key


def _readable(row: ProposalRow) -> Proposal:
    try:
        return from_row(row)
    except msgspec.DecodeError:
        raise ApprovalRefused(
            f"{row.id} can't be read: another version of Toolcrib wrote it", hint="Use that version to decide it."
        ) from None


def _refuse_dangerous(launch: Launch) -> None:
    """Whoever approves a command line thinks of what it says, not of what a variable makes of it."""
    if names := set_by(launch):
        raise ApprovalRefused(
            f"a proposed server may not set {', '.join(names)}: that can make programs run other code",
            hint="A person can add the server with `toolcrib add`.",
        )


def _with_a_folder(launch: Launch) -> Launch:
    """The launch bound to one folder: a person agrees to what it runs there, not in whatever folder a client works in."""
    return replace(launch, cwd="~") if isinstance(launch, StdioLaunch) and not launch.cwd else launch


def _is_other(launch: Launch | None, wanted: Launch) -> bool:
    return launch is not None and launch != wanted


def _bounded(definitions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    kept, room = [], MOST_DEFINITION_BYTES
    for definition in definitions:
        room -= len(msgspec.json.encode(definition))
        if room < 0:
            break
        kept.append(definition)
    return tuple(kept)
