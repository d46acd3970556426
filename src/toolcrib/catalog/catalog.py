"""The catalog in memory: what the store held at the last look."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from toolcrib.catalog.store import CatalogStore, ServerRecord
from toolcrib.errors import StoreUnavailable
from toolcrib.model.asking import QuestionKind
from toolcrib.model.finding import Finding
from toolcrib.model.learnt import LearntShape
from toolcrib.model.pin import Pins
from toolcrib.model.reading import Identity
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool

OnChange = Callable[[], None]


@dataclass(frozen=True)
class Snapshot:
    """The store as it was at one moment: records by launch key, and what those offer that somebody wants to see."""

    token: int | None = None
    taken_at: float = -math.inf
    records: Mapping[str, ServerRecord] = field(default_factory=dict)
    tools: dict[str, Sequence[Tool]] = field(default_factory=dict)
    items: dict[str, Sequence[Tool]] = field(default_factory=dict)
    # What was agreed to, by review key, and what was found in definitions, by fingerprint.
    pins: dict[str, Pins] = field(default_factory=dict)
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)

    @cached_property
    def former(self) -> dict[str, str]:
        """By the name of a server, the launch that was read last under it and that no configuration shows any more.

        One that is still shown belongs to somebody else, who gave another server the same name.
        """
        gone = [
            (record.read_at, key) for key, record in self.records.items() if record.stale and record.read_at is not None
        ]
        return {self.records[key].name: key for _, key in sorted(gone)}

    def shown_launch(self, spec: ServerSpec) -> str:
        """The launch whose tools a server shows: its own, or where that was never read its former one."""
        own = self.records.get(spec.launch_key)
        return spec.launch_key if own is not None and own.read_at is not None else self.former.get(spec.name, "")


class Catalog:
    """What is known of servers, by their entries, as it was at the last look.

    A server whose entry was edited keeps the tools of its former launch until it was read anew.
    """

    def __init__(
        self,
        store: CatalogStore,
        *,
        now: Callable[[], float],
        fresh_seconds: float = math.inf,
    ) -> None:
        self.store = store
        self.now = now
        self._fresh_seconds = fresh_seconds
        self.version = 0
        self.snapshot = Snapshot()
        self._listeners: list[OnChange] = []

    def configure(self, *, fresh_seconds: float) -> None:
        """Look again at what is older than this, from the next look on."""
        self._fresh_seconds = fresh_seconds

    # -- looking

    @property
    def records(self) -> Mapping[str, ServerRecord]:
        """Everything known, by launch key."""
        return self.snapshot.records

    def asks(self, spec: ServerSpec) -> Collection[QuestionKind]:
        """What a server was seen asking its client, as it is launched now."""
        own = self.records.get(spec.launch_key)
        return () if own is None else own.asks

    def record(self, spec: ServerSpec) -> ServerRecord | None:
        """What is known of a server as it is launched now, else as it was launched before."""
        own = self.records.get(spec.launch_key)
        return own or self.records.get(self.snapshot.former.get(spec.name, ""))

    def tools(self, spec: ServerSpec) -> Sequence[Tool]:
        """The tools last read of a server; the same object as long as nothing changed."""
        key = self.snapshot.shown_launch(spec)
        found = self.snapshot.tools.get(key)
        if found is None and key in self.records:
            # Only where nobody said before that these would be wanted, as in a command that looks once.
            found = self.snapshot.tools[key] = self.store.tools(key)
        return found or ()

    def items(self, spec: ServerSpec) -> Sequence[Tool]:
        """The same of what a server offers besides tools."""
        key = self.snapshot.shown_launch(spec)
        found = self.snapshot.items.get(key)
        if found is None and key in self.records:
            found = self.snapshot.items[key] = self._items_of(self.snapshot, key)
        return found or ()

    def pins(self, spec: ServerSpec) -> Pins | None:
        """What was agreed to of the server whose tools are shown; the same object as long as nothing changed.

        None where what is shown was read before anybody was asked.
        """
        record = self.records.get(self.snapshot.shown_launch(spec))
        if record is None or not record.review_key:
            return None
        found = self.snapshot.pins.get(record.review_key)
        if found is None:
            found = self.snapshot.pins[record.review_key] = self.store.pins(record.review_key)
        return found

    def findings(self, fingerprint: str) -> tuple[Finding, ...]:
        """What was found in a definition, by its fingerprint."""
        return self.snapshot.findings.get(fingerprint, ())

    def was_read(self, spec: ServerSpec) -> bool:
        record = self.record(spec)
        return record is not None and record.read_at is not None

    def is_launched_differently(self, spec: ServerSpec) -> bool:
        """Whether an entry starts or contacts something else than that whose tools are shown for it."""
        return self.snapshot.shown_launch(spec) not in ("", spec.launch_key)

    def broken(self, spec: ServerSpec) -> ServerRecord | None:
        """What is known of a server whose last reading failed, launched as it is now."""
        record = self.records.get(spec.launch_key)
        return record if record is not None and record.error else None

    def identity(self, spec: ServerSpec) -> Identity | None:
        """How this server introduced itself last time, if it is still launched the same way."""
        record = self.records.get(spec.launch_key)
        return None if record is None else record.identity

    def known_shape(self, launch_key: str, tool: str, fingerprint: str) -> LearntShape | None:
        """What was learnt of a tool's results under this very definition; asks the store at once, if we can look."""
        try:
            found = self.store.learnt_shape(launch_key, tool)
        except StoreUnavailable:
            return None
        return found if found is not None and found.fingerprint == fingerprint else None

    # -- keeping up

    def call_on_change(self, listener: OnChange) -> None:
        """Tell somebody, from now on, that something known has changed."""
        self._listeners.append(listener)

    def stop_calling(self, listener: OnChange) -> None:
        """Tell somebody no longer."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def look(self) -> None:
        """Take over the records at once; raises where the store can't be asked."""
        taken = self.taken(self.snapshot, ())
        if taken is not None:
            self.hold(taken)

    def taken(self, before: Snapshot, wanted: Sequence[ServerSpec], doubted: Collection[str] = ()) -> Snapshot | None:
        """The store as it is now, or None where it is as it was; in whatever thread."""
        # First: what is written while we read makes another token, and is taken over the next time.
        token = self.store.change_token()
        is_old = not 0 <= self.now() - before.taken_at < self._fresh_seconds
        has_all = all(key in before.tools for key in _launches(before, wanted))
        if token == before.token and not is_old and not doubted and has_all:
            return None
        taken = Snapshot(token, self.now(), self.store.servers(), findings=self.store.findings())
        for key in _launches(taken, wanted):
            is_same = not is_old and key not in doubted and _same_reading(before, taken, key)
            kept, items = (before.tools.get(key), before.items.get(key)) if is_same else (None, None)
            taken.tools[key] = self.store.tools(key) if kept is None else kept
            taken.items[key] = self._items_of(taken, key) if items is None else items
            self._take_pins(before, taken, taken.records[key])
        return taken

    def _take_pins(self, before: Snapshot, taken: Snapshot, record: ServerRecord) -> None:
        if record.review_key:
            kept = before.pins.get(record.review_key)
            is_same = kept is not None and kept.revision == record.pins_revision
            taken.pins[record.review_key] = kept if kept and is_same else self.store.pins(record.review_key)

    def _items_of(self, snapshot: Snapshot, key: str) -> Sequence[Tool]:
        return self.store.items(key) if snapshot.records[key].item_count else ()

    def hold(self, taken: Snapshot) -> None:
        self.snapshot = taken
        self.version += 1
        for listener in tuple(self._listeners):
            listener()


def _launches(snapshot: Snapshot, wanted: Iterable[ServerSpec]) -> Iterator[str]:
    return (key for spec in wanted if (key := snapshot.shown_launch(spec)) in snapshot.records)


def _same_reading(before: Snapshot, now: Snapshot, key: str) -> bool:
    known = before.records.get(key)
    return known is not None and known.read_at == now.records[key].read_at
