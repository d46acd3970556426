"""What may be used: the capabilities of configured and approved servers, and those registered beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from toolcrib.approvals.events import Event, Happening, Tell, nobody
from toolcrib.ccos.capability_catalog import CapabilityCatalog
from toolcrib.ccos.compatibility import objections
from toolcrib.ccos.known_capability import KnownCapability
from toolcrib.ccos.manifest import Manifest
from toolcrib.ccos.query import CapabilityQuery
from toolcrib.ccos.registrations import Registrations
from toolcrib.config.names import nearest
from toolcrib.errors import CapabilityNotFound, CapabilityRefused

Outcome = Literal["registered", "updated", "unchanged"]
LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class Registered:
    """What became of a registration; a pending manifest is known, but not for use."""

    manifest: Manifest
    outcome: Outcome


class Marketplace:
    """The usable part of the catalog. What is pending, rejected, gone or disabled by a rule is not in it."""

    def __init__(
        self,
        catalog: CapabilityCatalog,
        registrations: Registrations,
        *,
        now: Callable[[], float],
        tell: Tell = nobody,
    ) -> None:
        self._catalog = catalog
        self._registrations = registrations
        self._now = now
        self._tell = tell

    def all(self) -> list[KnownCapability]:
        """Every usable capability, by id."""
        return [known for known in self._catalog.known() if known.may_be_used]

    def query(self, query: CapabilityQuery) -> list[KnownCapability]:
        return query.select(self.all())

    def get(self, id: str) -> Manifest | None:
        known = self._catalog.get(id)
        return known.manifest if known is not None and known.may_be_used else None

    def history(self, id: str) -> list[Manifest]:
        """Earlier registered versions of a capability, oldest first."""
        return self._registrations.history(id)

    def register(self, manifest: Manifest, by: str = LIBRARY) -> Registered:
        """Register a capability, or a compatible version of one that is registered."""
        return self.update(manifest, by=by)

    def update(self, manifest: Manifest, *, force: bool = False, by: str = LIBRARY) -> Registered:
        """The same; with `force` also what is not compatible. The former version stays in the history."""
        before = self._registrations.get(manifest.id)
        if before is None:
            return Registered(self._put(manifest, None, "capability_registered", by), "registered")
        if before == manifest and before.approval_status == manifest.approval_status:
            return Registered(before, "unchanged")
        if (reasons := objections(before, manifest)) and not force:
            raise CapabilityRefused(
                f"{manifest.id} {manifest.version} can't replace {before.version}: {'; '.join(reasons)}",
                hint="Check whoever uses it, then register it again with force.",
                reasons=reasons,
            )
        return Registered(self._put(manifest, before, "capability_updated", by), "updated")

    def remove(self, id: str, by: str = LIBRARY) -> None:
        """Take a registration out; a tool of a configured server is kept away by a rule instead."""
        if self._registrations.remove(id):
            self._tell(Event("capability_removed", self._now(), by, "", id))
            return
        known = self._catalog.known()
        if any(capability.id == id for capability in known):
            raise CapabilityRefused(
                f"{id} belongs to a server that is configured",
                hint="Disable the tool with a rule in toolRules, or remove the server.",
            )
        close = nearest(id, [capability.id for capability in known])
        raise CapabilityNotFound(f"no capability is called {id!r}", nearest=[close] if close else [])

    def _put(self, manifest: Manifest, before: Manifest | None, what: Happening, by: str) -> Manifest:
        stamped = self._registrations.put(manifest, before)
        self._tell(Event(what, self._now(), by, manifest.server, manifest.id))
        return stamped
