"""A server somebody proposed, and the states its approval can be in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from toolcrib.approvals.change import Change
from toolcrib.approvals.risk import Risk
from toolcrib.approvals.store import ProposalRow
from toolcrib.model.pin import PinKey, PinnedKind
from toolcrib.model.server import FROM_PROPOSAL, Launch, Origin, RemoteLaunch, ServerSpec, StdioLaunch

State = Literal["pending", "approved", "rejected", "expired", "superseded"]

# A whole server, or what changed in the definitions of one that is in use.
Subject = Literal["server", "tools"]

# Which state may follow which; whoever is not here stays as it is for ever.
MOVES: Mapping[State, frozenset[State]] = {
    # Superseded where nothing is left to decide: what had changed went back to what it was.
    "pending": frozenset({"approved", "rejected", "expired", "superseded"}),
    # A person may think better of it, in either direction; an agent can't.
    "rejected": frozenset({"approved"}),
    "approved": frozenset({"rejected", "superseded"}),
    "expired": frozenset(),
    "superseded": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Decision:
    """Who moved a proposal to its state, when and why."""

    by: str
    at: float
    reason: str = ""


# A definition of a server in use: its kind, its name and its fingerprint.
Offered = tuple[PinnedKind, str, str]


@dataclass(frozen=True, slots=True)
class Accepted:
    """Some of the definitions that a request is about, to which a person agreed before the others."""

    decision: Decision
    definitions: tuple[Offered, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One request for approval: the exact launch, the tools as they were read, and what became of it.

    `definitions` is empty where the server was never read; `note` then says why. Of a server that is in use `changes` are
    what differs from what was agreed to under `review_key`, and of its launch credentials are left out. What was `accepted`
    of them is no longer among them.
    """

    id: str
    server: str
    launch: Launch
    source: str
    requested_at: float
    expires_at: float
    version: int = 1
    state: State = "pending"
    title: str = ""
    description: str = ""
    auth_env_var: str = ""
    goal: str = ""
    note: str = ""
    definitions: tuple[Mapping[str, Any], ...] = ()
    server_info: Mapping[str, Any] = field(default_factory=dict)
    risk: Risk = field(default_factory=Risk)
    decision: Decision | None = None
    superseded_by: int | None = None
    subject: Subject = "server"
    review_key: str = ""
    changes: tuple[Change, ...] = ()
    accepted: tuple[Accepted, ...] = ()

    @property
    def was_read(self) -> bool:
        return bool(self.definitions)

    @property
    def spec(self) -> ServerSpec:
        """The server as it would be launched; nothing may launch it before it is approved."""
        return ServerSpec(
            self.server, self.launch, title=self.title, description=self.description, origin=Origin(FROM_PROPOSAL)
        )

    def offers_the_same(self, other: Proposal) -> bool:
        """Whether whoever agrees to the one has agreed to the other."""
        mine, theirs = (
            (one.launch, one.definitions, [change.fingerprint for change in one.changes]) for one in (self, other)
        )
        return mine == theirs

    @property
    def definitions_asked_about(self) -> set[Offered]:
        return {(change.kind, change.name, change.fingerprint) for change in self.changes}

    @property
    def keys_agreed_to(self) -> set[PinKey]:
        """What somebody agreed to here of all that the server offers now, and nothing newer of the same name waits."""
        waiting = {change.key for change in self.changes}
        if self.state not in ("pending", "approved"):
            return set()
        before = {(kind, name) for one in self.accepted for kind, name, _ in one.definitions}
        return before | waiting if self.state == "approved" else before - waiting

    def agreement_to(self, offered: Offered) -> Decision | None:
        """Who agreed here to exactly this definition of a server in use, when and why; None where nobody did."""
        if self.state in ("approved", "superseded") and offered in self.definitions_asked_about:
            return self.decision
        return next((one.decision for one in self.accepted if offered in one.definitions), None)

    def may_become(self, state: State) -> bool:
        return state in MOVES[self.state]

    def moved(self, state: State, decision: Decision) -> Proposal:
        return replace(self, state=state, decision=decision)


class _StoredLaunch(msgspec.Struct, omit_defaults=True):
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    env_file: str | None = None
    pass_env: tuple[str, ...] = ()
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = {}
    transport: Literal["stdio", "http", "sse"] = "stdio"


class _Stored(msgspec.Struct, omit_defaults=True):
    """The parts of a proposal that have no column of their own."""

    launch: _StoredLaunch
    source: str
    expires_at: float
    title: str = ""
    description: str = ""
    auth_env_var: str = ""
    goal: str = ""
    note: str = ""
    definitions: tuple[dict[str, Any], ...] = ()
    server_info: dict[str, Any] = {}
    risk: Risk = msgspec.field(default_factory=Risk)
    decision: Decision | None = None
    superseded_by: int | None = None
    subject: Subject = "server"
    review_key: str = ""
    changes: tuple[Change, ...] = ()
    accepted: tuple[Accepted, ...] = ()


_PLAIN = ("source", "expires_at", "title", "description", "auth_env_var", "goal", "note", "risk", "decision")
_decode = msgspec.json.Decoder(_Stored).decode


def to_row(proposal: Proposal) -> ProposalRow:
    """The proposal as it is kept."""
    stored = _Stored(
        launch=_stored_launch(proposal.launch),
        definitions=tuple(dict(definition) for definition in proposal.definitions),
        server_info=dict(proposal.server_info),
        superseded_by=proposal.superseded_by,
        subject=proposal.subject,
        review_key=proposal.review_key,
        changes=proposal.changes,
        accepted=proposal.accepted,
        **{name: getattr(proposal, name) for name in _PLAIN},
    )
    body = msgspec.json.encode(stored).decode()
    return ProposalRow(proposal.id, proposal.server, proposal.version, proposal.state, proposal.requested_at, body)


def from_row(row: ProposalRow) -> Proposal:
    """The proposal a row holds; raises msgspec.DecodeError where it holds none."""
    stored = _decode(row.body)
    return Proposal(
        id=row.id,
        server=row.server,
        version=row.version,
        state=msgspec.convert(row.state, State),
        requested_at=row.requested_at,
        launch=_launch(stored.launch),
        definitions=stored.definitions,
        server_info=stored.server_info,
        superseded_by=stored.superseded_by,
        subject=stored.subject,
        review_key=stored.review_key,
        changes=stored.changes,
        accepted=stored.accepted,
        **{name: getattr(stored, name) for name in _PLAIN},
    )


def _stored_launch(launch: Launch) -> _StoredLaunch:
    if isinstance(launch, StdioLaunch):
        return _StoredLaunch(
            launch.command, launch.args, dict(launch.env), launch.env_file, launch.pass_env, launch.cwd
        )
    return _StoredLaunch(url=launch.url, headers=dict(launch.headers), transport=launch.transport)


def _launch(stored: _StoredLaunch) -> Launch:
    if stored.transport == "stdio":
        return StdioLaunch(stored.command, stored.args, stored.env, stored.env_file, stored.pass_env, stored.cwd)
    return RemoteLaunch(stored.url, stored.headers, stored.transport)
