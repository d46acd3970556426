"""The servers a person has configured, and how those of a registry stand to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from toolcrib.discovery.reads import endpoint_of
from toolcrib.discovery.unapproved import as_unapproved, is_reachable
from toolcrib.model.server import ServerSpec

log = logging.getLogger(__name__)


class KnownServers:
    """Looks servers up by what they are called, what they are said to provide, and where they are."""

    def __init__(self, configured: Callable[[], Sequence[ServerSpec]], *, allow_private: bool) -> None:
        self._configured = configured
        self._allow_private = allow_private

    def servers(self) -> list[ServerSpec]:
        return [spec for spec in self._configured() if spec.enabled]

    def has(self, spec: ServerSpec) -> bool:
        return spec in self._configured()

    def as_launched(self, spec: ServerSpec) -> ServerSpec:
        """The server as it is launched here, under whatever name; one that is not configured here stays as it is."""
        if spec.is_foreign or spec.site is not None:
            return spec
        known = next((one for one in self._configured() if one.launch_key == spec.launch_key), spec)
        return replace(spec, site=known.site, instance=known.instance, is_private=known.is_private)

    def matching(self, capability: str) -> list[ServerSpec]:
        """Servers whose name holds the words of the capability or is part of it, or whose entry claims it."""
        wanted = capability.strip().lower()
        return [spec for spec in self.servers() if wanted and _provides(spec, wanted)]

    def may_visit(self, spec: ServerSpec) -> bool:
        """Whether a server that nobody has approved may be contacted."""
        return is_reachable(spec, private=self._allow_private)

    def for_visit(self, found: Iterable[ServerSpec]) -> list[ServerSpec]:
        """Servers of a registry as they may be reached: as configured where they are, else as unapproved ones, else not."""
        chosen: dict[str, ServerSpec] = {}
        for spec in found:
            twin = self._twin(spec)
            if twin is None and not self.may_visit(spec):
                log.info("%s is not visited: it is a program, or inside our own network", spec.name)
                continue
            visited = twin or as_unapproved(spec)
            chosen.setdefault(endpoint_of(visited), visited)
        return list(chosen.values())

    def _twin(self, spec: ServerSpec) -> ServerSpec | None:
        names, endpoint = _names(spec), endpoint_of(spec)
        return next((one for one in self.servers() if names & _names(one) or endpoint_of(one) == endpoint), None)


def _provides(spec: ServerSpec, wanted: str) -> bool:
    if any(wanted in name or name in wanted for name in _names(spec)):
        return True
    return any(fnmatchcase(wanted, pattern.lower()) for pattern in spec.capabilities)


def _names(spec: ServerSpec) -> set[str]:
    return {name.lower() for name in (spec.name, spec.title) if name}
