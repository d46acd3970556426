"""Writing down what readings of configured servers brought, or why they failed."""

from __future__ import annotations

import asyncio
import logging

from toolcrib.errors import StoreUnavailable, ToolcribError
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.workspace.catalog_view import CatalogView

log = logging.getLogger(__name__)

MOST_REASON_CHARACTERS = 2_000


class Journal:
    """Fulfils `ReadingJournal`; remembers besides what kept this gateway from reading a server the last time."""

    def __init__(self, view: CatalogView) -> None:
        self._view = view
        self._failures: dict[str, ToolcribError] = {}

    def failure(self, server: str) -> ToolcribError | None:
        """Why the last reading here of a server failed, if it did."""
        return self._failures.get(server)

    def unread_failure(self, server: str) -> ToolcribError | None:
        """Why a server's tools are not known, where reading it failed and it was never read before."""
        return None if self._view.was_read(server) else self.failure(server)

    def note_failure(self, server: str, error: ToolcribError) -> None:
        """Remember a failure that is not written down yet, since another attempt follows."""
        self._failures[server] = error

    def forget_failure(self, server: str) -> None:
        self._failures.pop(server, None)

    def is_wanted(self, spec: ServerSpec) -> bool:
        """Whether the catalog lacks a fresh reading of a configured server."""
        return self._view.specs.get(spec.name) == spec and spec.name in self._view.due()

    async def keep(self, spec: ServerSpec, reading: ServerReading) -> None:
        """Write down a reading that somebody else made of a configured server; any other server is none of our business."""
        if self._view.specs.get(spec.name) == spec:
            try:
                await self.save(spec, reading)
            except StoreUnavailable as trouble:
                log.warning("%s: the catalog could not be used: %s", spec.name, trouble.message)
            self._view.follow_others()

    async def keep_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        """Write down why somebody else could not read a configured server."""
        if self._view.specs.get(spec.name) == spec:
            try:
                await self.save_failure(spec, error)
            except StoreUnavailable as trouble:
                log.warning("%s: the catalog could not be used: %s", spec.name, trouble.message)
            self._view.follow_others()

    async def save(self, spec: ServerSpec, reading: ServerReading) -> None:
        self.forget_failure(spec.name)
        for warning in reading.warnings:
            log.warning("%s: %s", spec.name, warning)
        await asyncio.to_thread(self._view.save, spec, reading)

    async def save_failure(self, spec: ServerSpec, error: ToolcribError) -> None:
        self.note_failure(spec.name, error)
        reason = error.message[:MOST_REASON_CHARACTERS]
        await asyncio.to_thread(self._view.save_failure, spec, reason, error.code)
