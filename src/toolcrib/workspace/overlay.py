"""Servers that no configuration names: found, trusted by a person, and laid over the configured ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolcrib.model.server import BUILT_IN_SERVER, RemoteLaunch, ServerSpec

_END_CHARACTERS = 6


@dataclass(frozen=True, slots=True)
class Overlay:
    """Found servers, and by their launch keys the fingerprints of the tools that a person reviewed, by name."""

    specs: tuple[ServerSpec, ...] = ()
    reviewed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def over(self, configured: Sequence[ServerSpec]) -> tuple[ServerSpec, ...]:
        """The configured servers with the found ones; a configured one keeps its name, and is never shown twice."""
        launches = {spec.launch_key for spec in configured}
        names = {BUILT_IN_SERVER, *(spec.name.lower() for spec in configured)}
        found = (spec for spec in self.specs if spec.launch_key not in launches)
        return (*configured, *(_renamed(spec) if spec.name.lower() in names else spec for spec in found))


Found = Callable[[], Overlay]


def nothing_found() -> Overlay:
    """For whoever looks for nobody."""
    return Overlay()


def _renamed(spec: ServerSpec) -> ServerSpec:
    assert isinstance(spec.launch, RemoteLaunch), "what is found is reached over the network"
    return replace(spec, name=f"{spec.name[: 63 - _END_CHARACTERS]}-{spec.launch.url[-_END_CHARACTERS:]}")
