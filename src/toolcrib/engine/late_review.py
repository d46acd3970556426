"""Judging readings: what it needs is loaded with the first reading, since most gateways start with all they need to know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from toolcrib.calls.audit_log import AuditLog
from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.judged import FoundBefore
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.model.pin import Judged, Pins
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import OnChange, ServerSpec
from toolcrib.model.tool import Tool

if TYPE_CHECKING:  # only names of types
    from toolcrib.approvals.approvals import Approvals
    from toolcrib.engine.reading_review import ReviewedReading, ReviewParts


class LateReading:
    """The judge of one reading; what it needs is loaded where it is first asked, which is not on the event loop."""

    def __init__(self, made: Callable[[], ReviewedReading]) -> None:
        self._make = made

    @cached_property
    def _made(self) -> ReviewedReading:
        return self._make()

    @property
    def review_key(self) -> str:
        return self._made.review_key

    def __call__(
        self, reading: ServerReading, pins: Pins, known: Sequence[Tool], found_before: FoundBefore, at: float
    ) -> Judged:
        return self._made(reading, pins, known, found_before, at)

    async def follow_up(self) -> None:
        await self._made.follow_up()


class LateReview:
    """Fulfils `ReadingReview`."""

    def __init__(
        self, settings: Callable[[], Settings], catalog: Catalog, paths: Paths, audit: AuditLog, face: str
    ) -> None:
        self._settings = settings
        self._catalog = catalog
        self._paths = paths
        self._audit = audit
        self._face = face
        self._parts: ReviewParts | None = None
        self._approvals: Approvals | None = None
        self._loading: asyncio.Future[ModuleType] | None = None
        self._close_store: Callable[[], None] = lambda: None

    def prepare(self) -> None:
        if self._loading is None:
            loop = asyncio.get_running_loop()
            self._loading = loop.run_in_executor(None, import_module, "toolcrib.engine.reading_review")

    def of(self, spec: ServerSpec) -> LateReading:
        on_change, scans = self.on_change(spec), self._settings().scan_definitions
        # What this server offered before its entry was edited is of no other server.
        former = self._catalog.snapshot.former.get(spec.name)
        tools = {key: known for key, known in self._catalog.snapshot.tools.items() if key != former}

        def made() -> ReviewedReading:
            code = import_module("toolcrib.engine.reading_review")
            scanner = code.SCANNER if scans else code.NO_SCANNER
            reviewed: ReviewedReading = code.ReviewedReading(
                spec, on_change, self._shared_parts(code), scanner=scanner, tools=tools
            )
            return reviewed

        return LateReading(made)

    def _shared_parts(self, code: ModuleType) -> ReviewParts:
        if self._parts is None:
            tell = import_module("toolcrib.engine.audited").audited(self._audit, self._face)
            self._parts = code.ReviewParts(self._opened_approvals, tell, self._catalog.store.expire)
        return self._parts

    def on_change(self, spec: ServerSpec) -> OnChange:
        """What happens when this server changes what it offers."""
        return spec.on_change or self._settings().on_change

    def close(self) -> None:
        self._close_store()

    def _opened_approvals(self) -> Approvals:
        """The queue of requests; not on the event loop."""
        if self._approvals is None:
            opened = import_module("toolcrib.engine.capabilities").open_approvals(self._paths, self._audit, self._face)
            self._approvals, self._close_store = opened
        return self._approvals
