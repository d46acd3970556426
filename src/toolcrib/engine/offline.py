"""What needs no server process: configuration, catalog, rules and search, wired together."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolcrib.built_in.definitions import BUILT_IN_TOOLS
from toolcrib.catalog.freshness import Freshness
from toolcrib.catalog.store import CatalogStore
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError, StoreUnavailable
from toolcrib.model.server import ServerSpec
from toolcrib.rules.rulebook import RuleBook
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.workspace.catalog_view import CatalogView

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offline:
    """The catalog and the view made from it."""

    store: CatalogStore
    view: CatalogView

    def configure(self, settings: Settings) -> None:
        """Show what these settings name, under these rules."""
        specs, rules = offered(settings), rule_book(settings)
        self.view.retime(
            settings.cache_ttl_seconds,
            _freshness(settings),
            max_indexed=settings.max_indexed_tools,
            max_enabled=settings.max_tools,
        )
        self.view.configure(specs, rules)
        _mark_gone(self.store, specs)


def open_offline(settings: Settings, paths: Paths) -> Offline:
    """For a gateway: what left the configuration is marked so in the catalog."""
    store = open_catalog(paths)
    offline = Offline(store, _view(store, settings, paths))
    offline.configure(settings)
    return offline


def open_reading(settings: Settings, paths: Paths) -> Offline:
    """For a command that only looks: the catalog stays as it is."""
    store = open_catalog(paths)
    view = _view(store, settings, paths)
    view.configure(offered(settings), rule_book(settings))
    return Offline(store, view)


def open_catalog(paths: Paths) -> CatalogStore:
    """The catalog on disk, or one in memory where the disk can't be used."""
    try:
        return SqliteCatalog(paths.catalog)
    except StoreUnavailable as trouble:
        log.warning("the catalog is kept in memory only: %s", trouble.message)
        return MemoryCatalog()


def offered(settings: Settings) -> tuple[ServerSpec, ...]:
    """The servers behind the counter; none while discovery is switched off."""
    return tuple(spec for spec in settings.servers if spec.enabled) if settings.enabled else ()


def rule_book(settings: Settings) -> RuleBook:
    """The rules as they decide; a pattern that can't be read is reported with the file it stands in."""
    try:
        return RuleBook(settings.tool_rules, settings.rule_precedence)
    except ConfigurationError as error:
        source = str(settings.file or "")
        raise ConfigurationError([replace(problem, source=source) for problem in error.problems]) from error


def _view(store: CatalogStore, settings: Settings, paths: Paths) -> CatalogView:
    return CatalogView(
        store,
        now=time.time,
        cache_seconds=settings.cache_ttl_seconds,
        freshness=_freshness(settings),
        built_in=BUILT_IN_TOOLS,
        index_path=paths.search_index,
        max_indexed=settings.max_indexed_tools,
        max_enabled=settings.max_tools,
    )


def _freshness(settings: Settings) -> Freshness:
    return Freshness(settings.tool_cache_ttl_seconds, settings.broken_retry_max_delay_seconds)


def _mark_gone(store: CatalogStore, specs: Iterable[ServerSpec]) -> None:
    """Definitions of servers that left the configuration stay, marked as stale."""
    names = {spec.name for spec in specs}
    try:
        records = store.servers()
        gone = [name for name, record in records.items() if name not in names and not record.stale]
        back = [name for name, record in records.items() if name in names and record.stale]
        if gone:
            store.mark_stale(gone)
        if back:
            store.mark_stale(back, stale=False)
    except StoreUnavailable as trouble:
        log.warning("the catalog could not be updated: %s", trouble.message)
