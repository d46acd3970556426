"""The catalog in memory: what the store holds, taken over in the background, so that nobody who asks waits for a disk."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ParamSpec, Protocol, TypeVar

from toolcrib.catalog.store import CatalogStore, ServerRecord
from toolcrib.errors import StoreUnavailable
from toolcrib.model.learnt import LearntShape
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

OnChange = Callable[[], None]


@dataclass(frozen=True)
class _Snapshot:
    """The store as it was at one moment: records by launch key, and the tools of those that somebody wants to see."""

    token: int | None = None
    taken_at: float = -math.inf
    records: Mapping[str, ServerRecord] = field(default_factory=dict)
    tools: dict[str, Sequence[Tool]] = field(default_factory=dict)

    @cached_property
    def last_read(self) -> dict[str, str]:
        """By the name of a server, the launch that was read last under it."""
        read = sorted((record.read_at, key) for key, record in self.records.items() if record.read_at is not None)
        return {self.records[key].name: key for _, key in read}

    def shown_launch(self, spec: ServerSpec) -> str:
        """The launch whose tools a server shows: its own, or where that was never read the last one under its name."""
        own = self.records.get(spec.launch_key)
        return spec.launch_key if own is not None and own.read_at is not None else self.last_read.get(spec.name, "")


class Aside(Protocol):
    """Runs work off the event loop, as `asyncio.to_thread` does."""

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class Catalog:
    """What is known of servers, by their entries; belongs to the event loop, and asks the store only in `aside`.

    A server whose entry was edited keeps the tools of its former launch until it was read anew.
    """

    def __init__(
        self,
        store: CatalogStore,
        *,
        now: Callable[[], float],
        fresh_seconds: float = math.inf,
        aside: Aside = asyncio.to_thread,
    ) -> None:
        self.store = store
        self.now = now
        self.fresh_seconds = fresh_seconds
        self.version = 0
        self._aside = aside
        self._snapshot = _Snapshot()
        self._wanted: Callable[[], Iterable[ServerSpec]] = tuple
        self._listeners: list[OnChange] = []
        self._following = asyncio.Lock()
        self._is_failing = False
        # Launches whose tools are to be looked up again, whatever their records say.
        self._doubted: set[str] = set()

    # -- looking

    @property
    def records(self) -> Mapping[str, ServerRecord]:
        """Everything known, by launch key."""
        return self._snapshot.records

    def record(self, spec: ServerSpec) -> ServerRecord | None:
        """What is known of a server as it is launched now, else as it was launched before."""
        own = self.records.get(spec.launch_key)
        return own or self.records.get(self._snapshot.last_read.get(spec.name, ""))

    def tools(self, spec: ServerSpec) -> Sequence[Tool]:
        """The tools last read of a server; the same object as long as nothing changed."""
        key = self._snapshot.shown_launch(spec)
        found = self._snapshot.tools.get(key)
        if found is None and key in self.records:
            # Only where nobody said before that these would be wanted, as in a command that looks once.
            found = self._snapshot.tools[key] = self.store.tools(key)
        return found or ()

    def was_read(self, spec: ServerSpec) -> bool:
        record = self.record(spec)
        return record is not None and record.read_at is not None

    def is_launched_differently(self, spec: ServerSpec) -> bool:
        """Whether an entry starts or contacts something else than what was met last time."""
        record = self.record(spec)
        return record is not None and record.launch_key != spec.launch_key

    def broken(self, spec: ServerSpec) -> ServerRecord | None:
        """What is known of a server whose last reading failed, launched as it is now."""
        record = self.records.get(spec.launch_key)
        return record if record is not None and record.error else None

    def identity(self, spec: ServerSpec) -> Identity | None:
        """How this server introduced itself last time, if it is still launched the same way."""
        record = self.records.get(spec.launch_key)
        return None if record is None else record.identity

    async def learnt_shape(self, launch_key: str, tool: str, fingerprint: str) -> LearntShape | None:
        """What was learnt of a tool's results under this very definition, if we can look."""
        return await self._aside(self.known_shape, launch_key, tool, fingerprint)

    def known_shape(self, launch_key: str, tool: str, fingerprint: str) -> LearntShape | None:
        """The same; asks the store at once."""
        try:
            found = self.store.learnt_shape(launch_key, tool)
        except StoreUnavailable:
            return None
        return found if found is not None and found.fingerprint == fingerprint else None

    # -- writing

    async def save_reading(self, spec: ServerSpec, reading: ServerReading) -> None:
        """Write down what a server told; raises where that can't be done."""
        key, at = spec.launch_key, self.now()
        await self._aside(self.store.save_reading, spec.name, key, reading, at)
        self._doubted.add(key)
        await self.follow()

    async def save_failure(self, spec: ServerSpec, error: str, code: str) -> None:
        """Write down why a server could not be read; raises where that can't be done."""
        key, at = spec.launch_key, self.now()
        await self._aside(self.store.record_failure, spec.name, key, error, at, code)
        await self.follow()

    # -- following

    def want(self, wanted: Callable[[], Iterable[ServerSpec]]) -> None:
        """Hold the tools of these servers ready from the next `follow` on."""
        self._wanted = wanted

    def doubt(self, spec: ServerSpec) -> None:
        """Look the tools of a server up again at the next `follow`, even if nothing says that they changed."""
        self._doubted.add(spec.launch_key)

    def call_on_change(self, listener: OnChange) -> None:
        """Tell somebody, from now on, that something known has changed."""
        self._listeners.append(listener)

    async def follow(self) -> None:
        """Take over what was written since the last time, by us or by others; where the store can't be asked, all stays."""
        async with self._following:
            wanted, doubted = tuple(self._wanted()), frozenset(self._doubted)
            try:
                taken = await self._aside(self._taken, self._snapshot, wanted, doubted)
            except StoreUnavailable as trouble:
                self._report(trouble)
                return
            self._is_failing = False
            self._doubted -= doubted
            if taken is not None:
                self._hold(taken)

    def look(self) -> None:
        """Take over the records at once; raises where the store can't be asked."""
        taken = self._taken(self._snapshot, ())
        if taken is not None:
            self._hold(taken)

    def _taken(
        self, before: _Snapshot, wanted: Sequence[ServerSpec], doubted: Collection[str] = ()
    ) -> _Snapshot | None:
        """The store as it is now, or None where it is as it was; in whatever thread."""
        # First: what is written while we read makes another token, and is taken over the next time.
        token = self.store.change_token()
        is_old = not 0 <= self.now() - before.taken_at < self.fresh_seconds
        has_all = all(key in before.tools for key in _launches(before, wanted))
        if token == before.token and not is_old and not doubted and has_all:
            return None
        taken = _Snapshot(token, self.now(), self.store.servers())
        for key in _launches(taken, wanted):
            is_same = not is_old and key not in doubted and _same_reading(before, taken, key)
            kept = before.tools.get(key) if is_same else None
            taken.tools[key] = self.store.tools(key) if kept is None else kept
        return taken

    def _hold(self, taken: _Snapshot) -> None:
        self._snapshot = taken
        self.version += 1
        for listener in self._listeners:
            listener()

    def _report(self, trouble: StoreUnavailable) -> None:
        level = logging.DEBUG if self._is_failing else logging.WARNING  # once, not every second
        log.log(level, "the catalog can't be read now, so what is known stays: %s", trouble.message)
        self._is_failing = True


def _launches(snapshot: _Snapshot, wanted: Iterable[ServerSpec]) -> Iterator[str]:
    return (key for spec in wanted if (key := snapshot.shown_launch(spec)) in snapshot.records)


def _same_reading(before: _Snapshot, now: _Snapshot, key: str) -> bool:
    known = before.records.get(key)
    return known is not None and known.read_at == now.records[key].read_at
