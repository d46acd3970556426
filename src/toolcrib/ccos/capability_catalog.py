"""What is known: every capability of the catalog, whether it may be used or not, and how to search them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from toolcrib.approvals.approvals import Approvals
from toolcrib.approvals.proposal import Proposal
from toolcrib.ccos.known_capability import KnownCapability, ListedTool, ListedTools
from toolcrib.ccos.manifest import ApprovalStatus, Manifest
from toolcrib.ccos.query import CapabilityQuery
from toolcrib.ccos.registrations import Registrations
from toolcrib.model.server import Origin, ServerSpec, StdioLaunch
from toolcrib.model.tool import Tool, ToolMatch

_SHORTEST_WORD = 3
_WHOLE_QUERY = 10.0
GONE = "its server is not configured any more"
WAITS = "a person has not approved its server"


@dataclass(frozen=True, slots=True)
class Found:
    """A hit; what `score` means depends on the way it was searched."""

    capability: KnownCapability
    score: float


class SearchEngine(Protocol):
    """Ranks tools by meaning."""

    def search(self, query: str, *, limit: int) -> Sequence[ToolMatch]: ...


class CapabilityCatalog:
    """A view of the catalog, the registrations and the proposals; `engine` ranks tools by meaning."""

    def __init__(
        self,
        registrations: Registrations,
        approvals: Approvals,
        tools: ListedTools,
        engine: Callable[[Iterable[Tool]], SearchEngine] | None = None,
    ) -> None:
        self._registrations = registrations
        self._approvals = approvals
        self._tools = tools
        self._engine = engine

    def known(self) -> list[KnownCapability]:
        """All of them by id; a registered manifest stands before the tool it was made from."""
        of_servers = list(self._of_servers())
        read = {capability.server for capability in of_servers}
        found: dict[str, KnownCapability] = {}
        for capability in (*of_servers, *self._of_proposals(read)):
            found.setdefault(capability.id, capability)
        for manifest in self._registrations.all():
            found[manifest.id] = _registered(manifest, found.get(manifest.id))
        return [found[id] for id in sorted(found)]

    def get(self, id: str) -> KnownCapability | None:
        return next((capability for capability in self.known() if capability.id == id), None)

    def query(self, query: CapabilityQuery) -> list[KnownCapability]:
        return query.select(self.known())

    def register(self, manifest: Manifest) -> None:
        """Make a capability known; that alone does not let anyone use it."""
        if self._registrations.get(manifest.id) is None:
            self._registrations.put(replace(manifest, approval_status="pending"), None)

    def search(self, query: str, *, limit: int = 10, semantic: bool = False) -> list[Found]:
        """The best hits for a query; every capability where it is empty. Without an engine words must be shared."""
        known = self.known()
        if semantic and self._engine is not None and query.strip():
            return self._by_meaning(query, known, limit)
        scored = (Found(capability, keyword_score(query, capability.search_text)) for capability in known)
        hits = [found for found in scored if found.score > 0]
        # Sorting keeps the order of ids among equals.
        return sorted(hits, key=lambda found: -found.score)[:limit]

    def _by_meaning(self, query: str, known: list[KnownCapability], limit: int) -> list[Found]:
        assert self._engine is not None
        by_tool = {(capability.tool.server, capability.tool.name): capability for capability in known}
        matches = self._engine(capability.tool for capability in by_tool.values()).search(query, limit=limit)
        return [Found(by_tool[match.tool.server, match.tool.name], match.relevance) for match in matches]

    def _of_servers(self) -> Iterator[KnownCapability]:
        approved = self._approvals.approved()
        for listed in self._tools.listed_tools():
            server = listed.tool.server
            if listed.spec is None:
                yield KnownCapability.of_tool(listed, _gone(server), "revoked", GONE)
            else:
                status: ApprovalStatus = "approved" if server in approved else "auto_approved"
                yield KnownCapability.of_tool(listed, listed.spec, status)

    def _of_proposals(self, read: set[str]) -> Iterator[KnownCapability]:
        """What waits for approval, and what was approved but not read since."""
        for proposal in self._approvals.all():
            if proposal.state == "pending":
                yield from _proposed(proposal, "pending", WAITS)
            elif proposal.state == "approved" and proposal.server not in read:
                is_gone = not self._tools.is_configured(proposal.server)
                yield from _proposed(proposal, "revoked" if is_gone else "approved", GONE if is_gone else "")


def _proposed(proposal: Proposal, status: ApprovalStatus, reason: str) -> Iterator[KnownCapability]:
    spec = proposal.spec
    for definition in proposal.definitions:
        tool = Tool(proposal.server, str(definition.get("name")), definition)
        yield KnownCapability.of_tool(ListedTool(tool, spec), spec, status, reason)


def keyword_score(query: str, text: str) -> float:
    """One for each word of more than two letters that is found, ten more for the whole query; 1 for an empty one."""
    wanted = query.replace("_", " ").lower().strip()
    if not wanted:
        return 1.0
    words = [word for word in wanted.split() if len(word) >= _SHORTEST_WORD]
    return sum(word in text for word in words) + (_WHOLE_QUERY if wanted in text else 0.0)


def _registered(manifest: Manifest, derived: KnownCapability | None) -> KnownCapability:
    """A registration counts for what it says, unless its server is gone or a rule keeps the tool away."""
    if derived is None or derived.status == "pending":
        return KnownCapability.of_manifest(manifest, manifest.approval_status, _reason(manifest))
    if derived.status == "revoked":
        return KnownCapability.of_manifest(manifest, "revoked", derived.reason)
    return KnownCapability.of_manifest(manifest, derived.status, derived.reason)


def _reason(manifest: Manifest) -> str:
    return "" if manifest.may_be_used else "it was not approved"


def _gone(server: str) -> ServerSpec:
    return ServerSpec(server, StdioLaunch(""), origin=Origin("catalog"))
