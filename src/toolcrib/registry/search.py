"""Servers of registries, ranked by the engine that ranks tools."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.errors import ToolcribError
from toolcrib.model.tool import Tool, ToolMatch
from toolcrib.registry.mirror import Mirrored
from toolcrib.registry.trust import REASONS, WEIGHTS, Tier, tier_of
from toolcrib.search.loading import loaded_index

if TYPE_CHECKING:
    from toolcrib.search.explain import Explanation
    from toolcrib.search.index import ToolIndex

log = logging.getLogger(__name__)

# Parts of a reverse domain name that say nothing of the publisher.
_DOMAIN_WORDS = frozenset("io com org net ai dev app co me github gitlab www mcp xyz cloud tech sh so".split())
# Trust moves a server up or down among its equals; it never makes an unfit one fit.
_TRUST_SHARE = 0.2
_DEPRECATED_FACTOR = 0.5
_LOOKED_AT = 5


@dataclass(frozen=True, slots=True)
class RegistryHit:
    """A server that was found; `relevance` is in 0..1, and `reasons` say why it stands where it does."""

    server: Mirrored
    relevance: float
    tier: Tier
    reasons: tuple[str, ...] = ()


class RegistryIndex:
    """An index over servers; made once and asked often."""

    def __init__(self, servers: Iterable[Mirrored], *, kept_at: Path | None = None) -> None:
        self._servers: dict[str, Mirrored] = {}
        tools = []
        for server in servers:
            tool = _document(server)
            if tool.id in self._servers:
                tool = Tool(tool.server, server.name, tool.definition)
            self._servers[tool.id] = server
            tools.append(tool)
        self._index = build_index(tools) if kept_at is None else kept_index(tools, kept_at)
        self._names = {server.name.casefold(): server for server in self._servers.values()}

    def __len__(self) -> int:
        return len(self._servers)

    def search(self, query: str, limit: int = 10) -> list[RegistryHit]:
        """The best servers, best first; the full name of one puts it first."""
        named = self._names.get(query.strip().casefold())
        found = sorted(self._index.search(query, limit=limit * _LOOKED_AT), key=self._standing, reverse=True)
        others = [match for match in found if self._servers[match.tool.id] is not named]
        hits = [self._hit(query, match) for match in others[:limit]]
        if named is not None:
            hits.insert(0, RegistryHit(named, 1.0, tier_of(named.name, named.registry), ("its name in full",)))
        return hits[:limit]

    def _hit(self, query: str, match: ToolMatch) -> RegistryHit:
        server = self._servers[match.tool.id]
        tier = tier_of(server.name, server.registry)
        reasons = [*_word_reasons(self._index.explain(query, match.tool)), REASONS[tier]]
        if server.status == "deprecated":
            reasons.append("deprecated by its publisher")
        return RegistryHit(server, match.relevance, tier, tuple(reasons))

    def _standing(self, match: ToolMatch) -> float:
        server = self._servers[match.tool.id]
        trusted = 1 - _TRUST_SHARE + _TRUST_SHARE * WEIGHTS[tier_of(server.name, server.registry)]
        return match.relevance * trusted * (_DEPRECATED_FACTOR if server.status == "deprecated" else 1)


def build_index(tools: Sequence[Tool]) -> ToolIndex:
    """The index over documents of servers: by their words, for working out what 25,000 of them mean takes minutes."""
    index = loaded_index()()
    index.add_words(tools)
    return index


def kept_index(tools: Sequence[Tool], path: Path) -> ToolIndex:
    """The index in that file, which is made where it is not there yet; those of earlier copies go."""
    try:
        return loaded_index().load(path)
    except ToolcribError:  # IndexUnreadable; naming it would load numpy before there is an index to read
        index = build_index(tools)
    try:
        index.save(path)
        for other in path.parent.glob("registry-*.index"):
            if other != path:
                other.unlink(missing_ok=True)
    except OSError as trouble:
        log.debug("the index over the registries could not be kept: %s", trouble)
    return index


def _document(server: Mirrored) -> Tool:
    namespace, _, short = server.name.partition("/")
    owner = " ".join(word for word in re.split(r"[.-]", namespace) if word not in _DOMAIN_WORDS)
    definition = {"name": short, "title": server.title, "description": server.description}
    return Tool(short, f"{owner}/{short}" if owner else short, definition)


def _word_reasons(why: Explanation) -> list[str]:
    """Which words of the query were found, in a half sentence."""
    matched = [match.word for match in why.words if match.fields]
    return [f"matches {', '.join(repr(word) for word in matched[:_LOOKED_AT])}"] if matched else []
