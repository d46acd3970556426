"""Writing down what readings of configured servers brought, or why they failed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from toolcrib.catalog.followed import FollowedCatalog
from toolcrib.catalog.judged import Judge
from toolcrib.errors import StoreUnavailable, ToolcribError
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import ServerSpec

log = logging.getLogger(__name__)

MOST_REASON_CHARACTERS = 2_000


class ReviewedReading(Judge, Protocol):
    """The judge of one reading."""

    async def follow_up(self) -> None:
        """Ask a person about what waits, once the reading is saved."""


class ReadingReview(Protocol):
    """Whoever judges what servers offer by what was agreed to."""

    def prepare(self) -> None:
        """Get ready while a server is being read; returns at once."""

    def of(self, spec: ServerSpec) -> ReviewedReading: ...


class Journal:
    """Fulfils `ReadingJournal`; remembers besides what kept this engine from reading a server the last time.

    `specs` are the servers that some workspace shows, by launch key. Without a `review` nothing is ever pinned.
    """

    def __init__(
        self,
        catalog: FollowedCatalog,
        specs: Callable[[], Mapping[str, ServerSpec]],
        review: ReadingReview | None = None,
    ) -> None:
        self._catalog = catalog
        self._review = review
        self._specs = specs
        self._failures: dict[str, ToolcribError] = {}

    def failure(self, spec: ServerSpec) -> ToolcribError | None:
        """Why the last reading here of a server failed, if it did."""
        return self._failures.get(spec.launch_key)

    def unread_failure(self, spec: ServerSpec) -> ToolcribError | None:
        """Why a server's tools are not known, where reading it failed and it was never read before."""
        return None if self._catalog.was_read(spec) else self.failure(spec)

    def note_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        """Remember a failure that is not written down yet, since another attempt follows."""
        self._failures[spec.launch_key] = error

    def forget_failure(self, spec: ServerSpec) -> None:
        self._failures.pop(spec.launch_key, None)

    def prepare(self) -> None:
        """A reading begins that will be written down."""
        if self._review is not None:
            self._review.prepare()

    async def catch_up(self) -> None:
        """Take over what other processes have written down by now."""
        await self._catalog.follow()

    async def keep(self, spec: ServerSpec, reading: ServerReading) -> bool:
        """Write down a reading that somebody else made, if it can be; False where the server is not a configured one."""
        try:
            await self.save(spec, reading)
        except StoreUnavailable as trouble:
            log.warning("%s: the catalog could not be used: %s", spec.name, trouble.message)
        return self._entry(spec) is not None

    async def keep_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        """Write down why somebody else could not read a server, if it can be."""
        try:
            await self.save_failure(spec, error)
        except StoreUnavailable as trouble:
            log.warning("%s: the catalog could not be used: %s", spec.name, trouble.message)

    async def save(self, spec: ServerSpec, reading: ServerReading) -> None:
        """Write down what a configured server told; any other server is none of our business."""
        entry = self._entry(spec)
        if entry is None:
            return
        self.forget_failure(entry)
        for warning in reading.warnings:
            log.warning("%s: %s", entry.name, warning)
        reviewed = None if self._review is None else self._review.of(entry)
        await self._catalog.save_reading(entry, reading, reviewed)
        if reviewed is not None:
            await reviewed.follow_up()

    async def save_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        """Write down why a configured server could not be read."""
        entry = self._entry(spec)
        if entry is not None:
            self.note_failure(entry, error)
            await self._catalog.save_failure(entry, error.message[:MOST_REASON_CHARACTERS], error.code)

    def _entry(self, spec: ServerSpec) -> ServerSpec | None:
        """The configured server that is launched as this one, under whatever name."""
        return None if spec.is_foreign else self._specs().get(spec.launch_key)
