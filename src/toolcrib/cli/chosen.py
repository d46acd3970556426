"""The servers a command is about: those named, or all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module

from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import ServerNotFound
from toolcrib.model.advice import SWITCHED_OFF
from toolcrib.model.server import Origin, ServerSpec
from toolcrib.search.suggest import nearest
from toolcrib.workspace.overlay import Overlay
from toolcrib.workspace.workspace import offered


def chosen_servers(settings: Settings, names: Sequence[str]) -> list[ServerSpec]:
    """In the order of the configuration, then peers; a name that nobody has, or that is switched off, raises ServerNotFound."""
    specs = {spec.name: spec for spec in _shown(settings)}
    for name in names:
        if name not in specs:
            raise _missing(settings, name, specs)
    return [spec for name, spec in specs.items() if not names or name in names]


def _shown(settings: Settings) -> Sequence[ServerSpec]:
    configured = offered(settings)
    if not (settings.enabled and settings.peers_enabled):
        return configured
    # Only here: who looks for no peers loads nothing of them.
    overlay: Overlay = import_module("toolcrib.engine.peer_specs").stored_overlay(settings, Paths.of(os.environ))
    return overlay.over(configured)


def _missing(settings: Settings, name: str, offered_names: Iterable[str]) -> ServerNotFound:
    return disabled(settings, name) or ServerNotFound(
        f"no server is called {name!r}", nearest=nearest(name, offered_names)
    )


def disabled(settings: Settings, name: str) -> ServerNotFound | None:
    """The error for a server that is configured, but switched off; None for one that nobody configured."""
    origin = next((spec.origin for spec in settings.servers if spec.name == name), None)
    if origin is None:
        return None
    if not settings.enabled:
        return ServerNotFound(f"the server {name!r} is disabled, as all are (discovery.enabled: false)")
    return ServerNotFound(f"the server {name!r} is disabled ({where_disabled(name, origin)})")


def where_disabled(name: str, origin: Origin) -> str:
    """What switches a disabled server on: a command for one of our own file, else the file that says so."""
    if origin.source == Origin().source:
        return f"`toolcrib enable {name}` switches it on"
    return f"in {origin.file or origin.source}"


def why_none(settings: Settings) -> str:
    """Why there is no server to do anything with."""
    if not settings.enabled:
        return SWITCHED_OFF
    if settings.servers:
        return "No server is enabled. `toolcrib list` says of each what switches it on."
    return "No server is configured."
