"""Capabilities, proposals and their files, wired to the view."""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.approvals.approvals import Approvals
from toolcrib.approvals.events import Tell, nobody
from toolcrib.approvals.store import CapabilityStore
from toolcrib.calls.audit_log import AuditLog
from toolcrib.catalog.store import ServerRecord
from toolcrib.ccos.capability_catalog import CapabilityCatalog
from toolcrib.ccos.export import CapabilityFiles
from toolcrib.ccos.known_capability import ListedTool
from toolcrib.ccos.marketplace import Marketplace
from toolcrib.ccos.registrations import Registrations
from toolcrib.ccos.review import Review
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.audited import audited
from toolcrib.engine.open_catalog import open_reading
from toolcrib.errors import StoreUnavailable
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.search.loading import loaded_index
from toolcrib.storage.memory_capabilities import MemoryCapabilities
from toolcrib.storage.sqlite_capabilities import SqliteCapabilities
from toolcrib.workspace.catalog_view import CatalogView

if TYPE_CHECKING:
    from toolcrib.search.index import ToolIndex

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """All there is to do with capabilities; close it with the catalog."""

    store: CapabilityStore
    review: Review
    catalog: CapabilityCatalog
    marketplace: Marketplace
    files: CapabilityFiles
    view: CatalogView

    @property
    def approvals(self) -> Approvals:
        return self.review.approvals

    def close(self) -> None:
        self.store.close()


def _new_index(tools: Iterable[Tool]) -> ToolIndex:
    return loaded_index()(tools)


def open_capabilities(
    view: CatalogView,
    paths: Paths,
    *,
    configured: Callable[[], Mapping[str, ServerSpec]],
    tell: Tell = nobody,
) -> Capabilities:
    """`configured` are all servers of the configuration, those switched off too."""
    store = _open_store(paths)
    approvals = Approvals(store, now=time.time, new_id=_new_id, configured=configured, tell=tell)
    registrations = Registrations(store, now=time.time)
    tools = ViewedTools(view)
    catalog = CapabilityCatalog(registrations, approvals, tools, _new_index)
    files = capability_files(paths)
    marketplace = Marketplace(catalog, registrations, now=time.time, tell=tell)
    return Capabilities(store, Review(approvals, files), catalog, marketplace, files, view)


def open_approvals(paths: Paths, audit: AuditLog, face: str) -> tuple[Approvals, Callable[[], None]]:
    """The queue of requests alone, for whoever only asks; and what closes it."""
    store = _open_store(paths)
    return Approvals(store, now=time.time, new_id=_new_id, tell=audited(audit, face)), store.close


def capability_files(paths: Paths) -> CapabilityFiles:
    """The folders below the state folder; nothing is written by naming them."""
    return CapabilityFiles(paths.capabilities_dir / "servers")


@contextmanager
def read_capabilities(
    settings: Settings, env: Mapping[str, str] | None = None, *, tell: Tell = nobody
) -> Iterator[Capabilities]:
    """Capabilities and proposals of this configuration, from the catalog; no server is started."""
    paths = Paths.of(os.environ if env is None else env)
    configured = {spec.name: spec for spec in settings.servers}
    with (
        closing(open_reading(settings, paths)) as looking,
        closing(open_capabilities(looking.view, paths, configured=lambda: configured, tell=tell)) as opened,
    ):
        yield opened


class ViewedTools:
    """The tools a view shows, and those the catalog remembers of servers that are gone."""

    def __init__(self, view: CatalogView) -> None:
        self._view = view

    def is_configured(self, server: str) -> bool:
        return server in self._view.specs

    def listed_tools(self) -> Iterator[ListedTool]:
        for name, spec in self._view.specs.items():
            for visible in self._view.tools(name).values():
                if not visible.is_fallback:
                    yield self._listed(visible, spec)
        for record in self._gone():
            for tool in self._view.catalog.store.tools(record.launch_key):
                yield ListedTool(tool, None)

    def _gone(self) -> Iterable[ServerRecord]:
        """The last launch known of each server that is not configured."""
        records = self._view.catalog.records.values()
        gone = [one for one in records if one.name not in self._view.specs and one.read_at is not None]
        return {one.name: one for one in sorted(gone, key=lambda one: (one.name, one.read_at))}.values()

    def _listed(self, visible: VisibleTool, spec: ServerSpec) -> ListedTool:
        reason = "" if visible.enabled else visible.availability.reason or "the rules disable it"
        waits = visible.availability.hides_words
        return ListedTool(visible.tool, spec, visible.upstream_name, reason, lambda: self._learnt(visible), waits)

    def _learnt(self, visible: VisibleTool) -> Mapping[str, Any] | None:
        shape = self._view.known_shape(visible)
        return shape.schema if shape is not None and shape.schema else None


def _open_store(paths: Paths) -> CapabilityStore:
    try:
        return SqliteCapabilities(paths.catalog)
    except StoreUnavailable as trouble:
        log.warning("proposals are kept in memory only: %s", trouble.message)
        return MemoryCapabilities()


def _new_id() -> str:
    return f"apr-{secrets.token_hex(5)}"
