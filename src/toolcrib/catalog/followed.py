"""The catalog in memory, kept up with its store in the background, so that nobody who asks waits for a disk."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable
from typing import ParamSpec, Protocol, TypeVar

from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.judged import Judge, save_judged
from toolcrib.catalog.store import CatalogStore
from toolcrib.errors import StoreUnavailable
from toolcrib.model.asking import QuestionKind
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import ServerSpec

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class Aside(Protocol):
    """Runs work off the event loop, as `asyncio.to_thread` does."""

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class FollowedCatalog(Catalog):
    """A catalog that takes over what others write; belongs to the event loop, and asks the store only in `aside`."""

    def __init__(
        self,
        store: CatalogStore,
        *,
        now: Callable[[], float],
        fresh_seconds: float = math.inf,
        aside: Aside = asyncio.to_thread,
    ) -> None:
        super().__init__(store, now=now, fresh_seconds=fresh_seconds)
        self._aside = aside
        self._wanted: Callable[[], Iterable[ServerSpec]] = tuple
        self._following = asyncio.Lock()
        self._is_failing = False
        # Launches whose tools are to be looked up again, whatever their records say.
        self._doubted: set[str] = set()

    def want(self, wanted: Callable[[], Iterable[ServerSpec]]) -> None:
        """Hold the tools of these servers ready from the next `follow` on."""
        self._wanted = wanted

    def doubt(self, spec: ServerSpec) -> None:
        """Look the tools of a server up again at the next `follow`, even if nothing says that they changed."""
        self._doubted.add(spec.launch_key)

    async def follow(self) -> None:
        """Take over what was written since the last time, by us or by others; where the store can't be asked, all stays."""
        async with self._following:
            wanted, doubted = tuple(self._wanted()), frozenset(self._doubted)
            try:
                taken = await self._aside(self.taken, self.snapshot, wanted, doubted)
            except StoreUnavailable as trouble:
                self._report(trouble)
                return
            self._is_failing = False
            self._doubted -= doubted
            if taken is not None:
                self.hold(taken)

    async def save_reading(self, spec: ServerSpec, reading: ServerReading, judge: Judge | None = None) -> None:
        """Write down what a server told, together with what `judge` makes of it; raises where that can't be done."""
        key, at = spec.launch_key, self.now()
        if judge is None:
            await self._aside(self.store.save_reading, spec.name, key, reading, at)
        else:
            await self._aside(save_judged, self.store, spec, reading, at, judge)
        self._doubted.add(key)
        await self.follow()

    async def save_failure(self, spec: ServerSpec, error: str, code: str) -> None:
        """Write down why a server could not be read; raises where that can't be done."""
        key, at = spec.launch_key, self.now()
        await self._aside(self.store.record_failure, spec.name, key, error, at, code)
        await self.follow()

    async def note_asks(self, spec: ServerSpec, kind: QuestionKind) -> None:
        """Write down that a server asks its client; if that can't be done, it is found out anew another time."""
        try:
            await self._aside(self.store.note_asks, spec.name, spec.launch_key, (kind,))
        except StoreUnavailable as trouble:
            self._report(trouble)
        else:
            await self.follow()

    def _report(self, trouble: StoreUnavailable) -> None:
        level = logging.DEBUG if self._is_failing else logging.WARNING  # once, not every second
        log.log(level, "could not read the catalog, so the last known state is used: %s", trouble.message)
        self._is_failing = True
