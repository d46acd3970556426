"""Trusting, forgetting and blocking peers: the decision in the approvals and what follows from it, in one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from toolcrib.approvals.approvals import ProposalRequest
from toolcrib.approvals.proposal import Proposal
from toolcrib.ccos.review import Review
from toolcrib.config.names import nearest
from toolcrib.config.paths import Paths
from toolcrib.engine.open_catalog import open_store
from toolcrib.engine.peer_specs import open_peer_store, peer_launch
from toolcrib.errors import ApprovalRefused, PeerNotFound, PeerRefused
from toolcrib.model.peer import FROM_PEER, PEER_SERVER_PREFIX, KnownPeer, peer_id_of
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.peers.store import PeerStore

# The other places among the proposals that may wait are for what people and agents propose.
MOST_PENDING_PEERS = 20
_LEAST_ID_CHARACTERS = 8
ForgetTools = Callable[[str], None]
"""(launch key): forget what is known of that server"""


@dataclass(frozen=True, slots=True)
class ToolChanges:
    """How the tools of a proposal differ from those that were reviewed before, by name."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class PeerReview:
    """What persons decide about peers. `forget_tools` is called for a peer that is no longer wanted."""

    def __init__(self, store: PeerStore, review: Review, forget_tools: ForgetTools) -> None:
        self.store = store
        self._review = review
        self._forget_tools = forget_tools

    def find(self, name: str) -> KnownPeer:
        """A peer by its id, by the name of its server, by that name without `peer-`, or by eight characters at an end of its id.

        Names are chosen by peers: one that is like the id of another one, or like its name, finds neither.
        """
        known = self.store.peers()
        whole = [peer for peer in known if peer.peer_id == name] or [peer for peer in known if peer.server == name]
        found = whole or [peer for peer in known if _is_meant(name, peer)]
        if len(found) == 1:
            return self._whole(found[0])
        close = nearest(name, [peer.server for peer in known])
        raise PeerNotFound(
            f"several peers have a name or an id like {name!r}" if found else f"no peer {name!r} is known",
            hint="`toolcrib peers list --all` shows all of them.",
            nearest=[close] if close else [],
        )

    def propose(self, peer: KnownPeer) -> Proposal | None:
        """Enter what a peer offers as a proposal; None where nothing waits for a decision, or too many peers do."""
        peer = self._whole(peer)
        if not _has_news(peer):
            return None
        waiting = [one for one in self._review.approvals.all("pending") if one.source == FROM_PEER]
        if len(waiting) >= MOST_PENDING_PEERS and all(one.launch != peer_launch(peer.peer_id) for one in waiting):
            return None
        return self._entered(peer)

    def _entered(self, peer: KnownPeer) -> Proposal | None:
        try:
            return self._review.propose(_request(peer), FROM_PEER)
        except ApprovalRefused:
            return None  # a person has refused it, or the places of all proposals are taken

    def proposal_for(self, peer: KnownPeer) -> Proposal:
        """What a person who trusts this peer now agrees to, however many wait; raises where nothing is known of its tools."""
        if _has_news(peer) and (proposed := self._entered(peer)):
            return proposed
        own = [one for one in self._review.approvals.all() if one.launch == peer_launch(peer.peer_id)]
        newest = max(own, key=lambda one: one.version, default=None)
        if newest is None or newest.state in ("expired", "superseded"):
            raise PeerRefused(
                f"{peer.server} has not told its tools lately",
                reason="stale",
                hint="Wait until it is seen again: `toolcrib peers watch`.",
            )
        return newest

    def approve(self, proposal: Proposal, by: str, reason: str = "") -> Proposal:
        """A person agrees: from now on exactly these tools of the peer can be used."""
        peer_id = peer_of(proposal)
        if self.store.peer(peer_id) is None:
            raise PeerNotFound(
                f"{proposal.server} is not known any more", hint="It can be approved once it was seen again."
            )
        if proposal.state != "approved":
            proposal = self._review.approve(proposal.id, by, reason, expected=proposal)
        # After the decision: a peer that nobody agreed to must never be trusted.
        self.store.decide(peer_id, "trusted", fingerprints(proposal.definitions))
        return proposal

    def reject(self, proposal: Proposal, by: str, reason: str = "") -> Proposal:
        """A person refuses what is proposed; the peer itself, if this is what it was trusted by."""
        if proposal.state == "approved":
            self.store.decide(peer_of(proposal), "seen", {})
        return self._review.reject(proposal.id, by, reason)

    def forget(self, peer: KnownPeer, by: str, *, block: bool = False) -> None:
        """No longer trust a peer, and forget its tools; with `block` it is ignored for good."""
        launch = peer_launch(peer.peer_id)
        if block:
            self.store.decide(peer.peer_id, "blocked", {})
        else:
            self.store.forget_peer(peer.peer_id)
        self._forget_tools(ServerSpec(peer.server, launch).launch_key)
        for proposal in self._review.approvals.all():
            if proposal.launch == launch and proposal.may_become("rejected"):
                self._review.reject(proposal.id, by, "blocked" if block else "forgotten")

    def _whole(self, peer: KnownPeer) -> KnownPeer:
        """The peer with the tools of its card."""
        is_brief = peer.card is not None and peer.card.definitions is None
        return (self.store.peer(peer.peer_id) or peer) if is_brief else peer


@contextmanager
def opened_peer_review(paths: Paths, review: Review) -> Iterator[PeerReview]:
    """For a command; the catalog is opened only if something is forgotten."""

    def forget_tools(launch_key: str) -> None:
        with closing(open_store(paths)) as catalog:
            catalog.forget(launch_key)

    with closing(open_peer_store(paths)) as store:
        yield PeerReview(store, review, forget_tools)


def peer_of(proposal: Proposal) -> str:
    """The id of the peer that a proposal is about; empty where it is about another kind of server."""
    launch = proposal.launch
    return (peer_id_of(launch.url) or "") if isinstance(launch, RemoteLaunch) else ""


def fingerprints(definitions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What is pinned of these tools, by name."""
    tools = [Tool.from_mcp("", definition) for definition in definitions]
    return {tool.name: tool.fingerprint for tool in tools}


def tool_changes(peer: KnownPeer, definitions: Sequence[Mapping[str, Any]]) -> ToolChanges:
    """How these tools differ from those of the peer that were reviewed."""
    offered = fingerprints(definitions)
    return ToolChanges(
        new=tuple(name for name in offered if name not in peer.pins),
        changed=tuple(name for name in offered if name in peer.pins and peer.pins[name] != offered[name]),
        gone=tuple(name for name in peer.pins if name not in offered),
    )


def _has_news(peer: KnownPeer) -> bool:
    """Whether it offers something that nobody agreed to; a tool that is gone needs no decision."""
    if peer.card is None or not peer.is_trusted:
        return peer.card is not None
    changes = tool_changes(peer, peer.card.definitions or ())
    return bool(changes.new or changes.changed)


def _is_meant(text: str, peer: KnownPeer) -> bool:
    is_id = len(text) >= _LEAST_ID_CHARACTERS and (peer.peer_id.startswith(text) or peer.peer_id.endswith(text))
    return is_id or peer.server.removeprefix(PEER_SERVER_PREFIX) == text


def _request(peer: KnownPeer) -> ProposalRequest:
    assert peer.card is not None
    where = f"{peer.where}, " if peer.where else ""
    definitions = peer.card.definitions or ()
    more = peer.card.tool_count - len(definitions)
    rest = f"; {more} more tools do not fit its card and have to be reviewed later" if more > 0 else ""
    return ProposalRequest(
        name=peer.server,
        launch=peer_launch(peer.peer_id),
        source=FROM_PEER,
        definitions=definitions,
        note=f"{where}found by {peer.by}{rest}",
        server_info={"name": peer.card.name, "version": peer.card.version},
    )
