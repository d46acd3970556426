"""What the catalog knows of the tools of configured servers, in the words of the discovery service."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy

from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.freshness import Freshness
from toolcrib.catalog.store import ServerRecord
from toolcrib.discovery.cache import Item
from toolcrib.errors import StoreUnavailable
from toolcrib.model.learnt import LearntShape
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool

log = logging.getLogger(__name__)


class CatalogTools:
    """Fulfils `ConfiguredTools`; `shown` are the entries of all workspaces, and equal launches are one server."""

    def __init__(
        self, catalog: Catalog, shown: Callable[[], Iterable[ServerSpec]], freshness: Callable[[], Freshness]
    ) -> None:
        self._catalog = catalog
        self._shown = shown
        self._freshness = freshness
        # When a server was read for the last time before it was expired here: the catalog in memory hears of it later.
        self._expired: dict[str, float | None] = {}

    def find(self, server: str, launch: str | None) -> ServerSpec | None:
        if launch:
            return next((spec for spec in self._shown() if spec.launch_key == launch), None)
        return next((spec for spec in self._shown() if spec.name == server), None)

    def fresh_tools(self, spec: ServerSpec) -> list[Item] | None:
        record = self._catalog.records.get(spec.launch_key)
        if record is None or not self._counts(record):
            return None
        try:
            tools = self._catalog.tools(spec)
            shapes = self._catalog.store.learnt_shapes(spec.launch_key)
        except StoreUnavailable as trouble:
            log.debug("%s: the catalog can't be asked for its tools: %s", spec.name, trouble.message)
            return None
        return [_record(tool, shapes.get(tool.name)) for tool in tools]

    def keep_schemas(self, spec: ServerSpec, tools: Sequence[Item]) -> None:
        store = self._catalog.store
        try:
            known = store.learnt_shapes(spec.launch_key)
            for shape in self._shapes(spec, tools):
                kept = known.get(shape.tool)
                if kept is None or not kept.schema or kept.fingerprint != shape.fingerprint:
                    store.save_shape(shape)
        except StoreUnavailable as trouble:
            log.debug("%s: what its tools return is not kept: %s", spec.name, trouble.message)

    def expire(self, server: str | None) -> None:
        keys = [spec.launch_key for spec in self._shown() if server in {None, spec.name}]
        for key in keys:
            record = self._catalog.records.get(key)
            self._expired[key] = None if record is None else record.read_at
        try:
            self._catalog.store.expire(keys)
        except StoreUnavailable as trouble:
            log.warning("other processes are not told that what is known was cleared: %s", trouble.message)

    def _counts(self, record: ServerRecord) -> bool:
        if record.read_at is None or self._expired.get(record.launch_key) == record.read_at:
            return False
        return not self._freshness().is_old(record, self._catalog.now())

    def _shapes(self, spec: ServerSpec, tools: Sequence[Item]) -> Iterable[LearntShape]:
        for record in tools:
            if "output_schema_json" in record:
                tool = Tool.from_mcp(spec.name, record["definition"])
                yield LearntShape(
                    spec.launch_key,
                    tool.name,
                    tool.fingerprint,
                    record["output_schema_json"],
                    origin="introspection",
                    learnt_at=self._catalog.now(),
                )


def _record(tool: Tool, learnt: LearntShape | None) -> Item:
    # A copy: whoever changes what it was given must not change the catalog.
    record = {"definition": deepcopy(tool.definition)}
    if learnt is None or not learnt.schema or learnt.fingerprint != tool.fingerprint:
        return record
    return {**record, "output_schema_json": deepcopy(learnt.schema)}
