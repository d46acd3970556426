"""Saving a reading together with what it was judged to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from toolcrib.catalog.store import CatalogStore, PinsMoved
from toolcrib.errors import StoreUnavailable
from toolcrib.model.finding import Finding
from toolcrib.model.pin import Judged, Pins
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool

# Persons and other gateways may decide at the same moment; more often than this they don't.
MOST_TRIES = 5
FoundBefore = Mapping[str, tuple[Finding, ...]]


class Judge(Protocol):
    """What a reading comes to, by what was agreed to; asked again where that moved meanwhile."""

    @property
    def review_key(self) -> str:
        """By what the server is known to those who agreed; empty where others see to its pins."""

    def __call__(
        self, reading: ServerReading, pins: Pins, known: Sequence[Tool], found_before: FoundBefore, at: float
    ) -> Judged:
        """`known` is what the catalog had of a server that was read before there were pins.

        `found_before` has what was found in definitions, by fingerprint.
        """


def save_judged(store: CatalogStore, spec: ServerSpec, reading: ServerReading, at: float, judge: Judge) -> None:
    """Judge a reading and save it; not on the event loop."""
    for _ in range(MOST_TRIES):
        pins = store.pins(judge.review_key, with_definitions=True)
        judged = judge(reading, pins, _known(store, spec, pins), store.findings(), at)
        try:
            store.save_reading(spec.name, spec.launch_key, reading, at, judged)
        except PinsMoved:
            continue
        return
    raise StoreUnavailable(f"what was agreed to of {spec.name} keeps changing", hint="Try again later.")


def _known(store: CatalogStore, spec: ServerSpec, pins: Pins) -> Sequence[Tool]:
    if pins.kinds:
        return ()
    record = store.servers().get(spec.launch_key)
    is_older = record is not None and record.read_at is not None and not record.review_key
    return [*store.tools(spec.launch_key), *store.items(spec.launch_key)] if is_older else ()
