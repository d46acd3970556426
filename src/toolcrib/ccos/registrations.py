"""The manifests registered by hand, as the catalog's file keeps them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import msgspec

from toolcrib.approvals.store import CapabilityRow, CapabilityStore
from toolcrib.ccos.manifest import Manifest
from toolcrib.ccos.rtfs_form import from_body, to_body
from toolcrib.errors import CapabilityRefused, RtfsError


class Registrations:
    """Reads and writes whole manifests; what a newer Toolcrib wrote in its own way is left alone."""

    def __init__(self, store: CapabilityStore, *, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now

    def all(self) -> list[Manifest]:
        """Every registered manifest, by id."""
        return _readable(self._store.capabilities())

    def get(self, id: str) -> Manifest | None:
        row = self._store.capability(id)
        return next(iter(_readable([row])), None) if row is not None else None

    def history(self, id: str) -> list[Manifest]:
        """The versions that were replaced or removed, oldest first."""
        return _readable(self._store.capability_history(id))

    def put(self, manifest: Manifest, replaces: Manifest | None) -> Manifest:
        """Register a manifest in the place of what is there; raises where that changed meanwhile."""
        before = self._store.capability(manifest.id)
        if (before is None) != (replaces is None):
            raise _changed(manifest.id)
        now = self._now()
        chain = (*(replaces.provenance.custody_chain if replaces is not None else ()), manifest.provenance.source)
        provenance = replace(
            manifest.provenance, version=manifest.version, custody_chain=chain[-16:], registered_at=now
        )
        stamped = replace(manifest, provenance=provenance)
        row = CapabilityRow(manifest.id, manifest.version, to_body(stamped), now)
        if not self._store.save_capability(row, replaces=before):
            raise _changed(manifest.id)
        return stamped

    def remove(self, id: str) -> bool:
        return self._store.remove_capability(id)


def _readable(rows: list[CapabilityRow]) -> list[Manifest]:
    found = []
    for row in rows:
        with suppress(msgspec.DecodeError, RtfsError, IndexError):
            found.append(from_body(row.body))
    return found


def _changed(id: str) -> CapabilityRefused:
    return CapabilityRefused(f"{id} was registered by someone else meanwhile", hint="Look at it again.")
