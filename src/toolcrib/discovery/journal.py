"""Writing down what readings of configured servers brought, or why they failed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from toolcrib.catalog.followed import FollowedCatalog
from toolcrib.catalog.freshness import Freshness
from toolcrib.errors import StoreUnavailable, ToolcribError
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import ServerSpec

log = logging.getLogger(__name__)

MOST_REASON_CHARACTERS = 2_000


class Journal:
    """Fulfils `ReadingJournal`; remembers besides what kept this engine from reading a server the last time.

    `specs` are the servers that some workspace shows, by launch key.
    """

    def __init__(
        self,
        catalog: FollowedCatalog,
        specs: Callable[[], Mapping[str, ServerSpec]],
        freshness: Callable[[], Freshness],
    ) -> None:
        self._catalog = catalog
        self._specs = specs
        self._freshness = freshness
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

    def is_wanted(self, spec: ServerSpec) -> bool:
        """Whether the catalog lacks a fresh reading of a configured server."""
        return self._is_ours(spec) and self._freshness().is_due(spec, self._catalog.record(spec), self._catalog.now())

    async def keep(self, spec: ServerSpec, reading: ServerReading) -> None:
        """Write down a reading that somebody else made, if it can be."""
        try:
            await self.save(spec, reading)
        except StoreUnavailable as trouble:
            log.warning("%s: the catalog could not be used: %s", spec.name, trouble.message)

    async def keep_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        """Write down why somebody else could not read a server, if it can be."""
        try:
            await self.save_failure(spec, error)
        except StoreUnavailable as trouble:
            log.warning("%s: the catalog could not be used: %s", spec.name, trouble.message)

    async def save(self, spec: ServerSpec, reading: ServerReading) -> None:
        """Write down what a configured server told; any other server is none of our business."""
        if not self._is_ours(spec):
            return
        self.forget_failure(spec)
        for warning in reading.warnings:
            log.warning("%s: %s", spec.name, warning)
        await self._catalog.save_reading(spec, reading)

    async def save_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        """Write down why a configured server could not be read."""
        if self._is_ours(spec):
            self.note_failure(spec, error)
            await self._catalog.save_failure(spec, error.message[:MOST_REASON_CHARACTERS], error.code)

    def _is_ours(self, spec: ServerSpec) -> bool:
        return not spec.is_foreign and spec.launch_key in self._specs()
