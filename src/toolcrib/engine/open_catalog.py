"""What needs no server process: the catalog on disk, and one configuration's view of it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from importlib import import_module

from toolcrib.built_in.definitions import BUILT_IN_TOOLS
from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.store import CatalogStore
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import StoreUnavailable
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.overlay import Found, Overlay, nothing_found
from toolcrib.workspace.search_index import SearchIndex
from toolcrib.workspace.workspace import Workspace

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenCatalog:
    """The catalog, and a workspace over it; for whoever only looks."""

    store: CatalogStore
    workspace: Workspace

    @property
    def view(self) -> CatalogView:
        return self.workspace.view

    def look_again(self) -> None:
        """Take over what was written since."""
        self.view.catalog.look()

    def close(self) -> None:
        self.store.close()


def open_reading(settings: Settings, paths: Paths) -> OpenCatalog:
    """For a command that only looks: the catalog stays as it is."""
    store = open_store(paths)
    try:
        catalog = Catalog(store, now=time.time)
        catalog.look()
        index = SearchIndex(store, path=paths.search_index, max_tools=settings.max_indexed_tools)
        found = _found_peers(settings, paths) if settings.peers_enabled else nothing_found
        return OpenCatalog(store, Workspace(settings, catalog, index, built_in=BUILT_IN_TOOLS, found=found))
    except BaseException:
        store.close()
        raise


def _found_peers(settings: Settings, paths: Paths) -> Found:
    # Only here: who looks for no peers loads nothing of them.
    overlay: Overlay = import_module("toolcrib.engine.peer_specs").stored_overlay(settings, paths)
    return lambda: overlay


def open_store(paths: Paths) -> CatalogStore:
    """The catalog on disk, or one in memory where the disk can't be used."""
    try:
        return SqliteCatalog(paths.catalog)
    except StoreUnavailable as trouble:
        log.warning("the catalog is kept in memory only: %s", trouble.message)
        return MemoryCatalog()
