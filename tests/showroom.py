"""A view and a search over a catalog in memory, with a clock moved by hand: for tests that need no gateway."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.fakes import Clock, spec
from toolcrib.built_in.definitions import BUILT_IN_TOOLS
from toolcrib.catalog.followed import FollowedCatalog
from toolcrib.catalog.store import CatalogStore
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool_rule import ToolRule
from toolcrib.rules.rulebook import RuleBook
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.search_index import SearchIndex
from toolcrib.workspace.tool_search import ToolSearch

IDENTITY = Identity("modern", "2026-07-28", {"name": "files", "version": "1.0"})
ENTRY = spec("files")
NO_RULES = RuleBook(())


def reading(
    *definitions: dict[str, Any], ttl_seconds: float | None = None, identity: Identity = IDENTITY
) -> ServerReading:
    return ServerReading(identity, definitions, ttl_seconds)


class Showroom:
    """What one configuration shows; `save` and `fail` write into the catalog and take it over at once."""

    def __init__(
        self,
        *specs: ServerSpec,
        rules: Iterable[ToolRule] = (),
        store: CatalogStore | None = None,
        clock: Clock | None = None,
        index: SearchIndex | None = None,
        fresh_seconds: float = 3600.0,
        max_indexed: int = 100_000,
        max_enabled: int = 10_000,
    ) -> None:
        self.clock = clock or Clock()
        self.store = MemoryCatalog() if store is None else store
        self.catalog = FollowedCatalog(self.store, now=self.clock, fresh_seconds=fresh_seconds)
        self.index = index or SearchIndex(self.store, path=None, max_tools=max_indexed)
        self.view = CatalogView(self.catalog, built_in=BUILT_IN_TOOLS)
        self.search = ToolSearch(self.view, self.index, max_enabled=max_enabled)
        self.view.configure(specs or (ENTRY,), RuleBook(tuple(rules)))

    def save(self, *definitions: dict[str, Any], entry: ServerSpec = ENTRY, identity: Identity = IDENTITY) -> None:
        self.clock.advance(1)
        told = reading(*definitions, identity=identity)
        self.store.save_reading(entry.name, entry.launch_key, told, self.clock())
        self.catalog.look()

    def leave(self, entry: ServerSpec) -> None:
        """No configuration shows this entry any more."""
        self.store.mark_stale([entry.launch_key])
        self.catalog.look()

    def fail(self, error: str, *, entry: ServerSpec = ENTRY, code: str = "") -> None:
        self.clock.advance(1)
        self.store.record_failure(entry.name, entry.launch_key, error, self.clock(), code)
        self.catalog.look()

    def found(self, query: str, **more: Any) -> list[str]:
        """What a search finds on the configured servers."""
        return [name for name in self.found_in_all(query, **more) if not name.startswith("toolcrib:")]

    def found_in_all(self, query: str, **more: Any) -> list[str]:
        return [visible.tool.id for visible, _ in self.search.search(query, **more)]
