"""The servers a command is about: those named, or all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolcrib.app.offline import offered
from toolcrib.config.settings import Settings
from toolcrib.errors import ServerNotFound
from toolcrib.model.server import ServerSpec
from toolcrib.search.suggest import nearest


def chosen_servers(settings: Settings, names: Sequence[str]) -> list[ServerSpec]:
    """In the order of the configuration; a name that nobody has, or that is switched off, raises ServerNotFound."""
    specs = {spec.name: spec for spec in offered(settings)}
    for name in names:
        if name not in specs:
            raise _missing(settings, name, specs)
    return [spec for name, spec in specs.items() if not names or name in names]


def _missing(settings: Settings, name: str, offered_names: Iterable[str]) -> ServerNotFound:
    if any(spec.name == name for spec in settings.servers):
        return disabled(name)
    return ServerNotFound(f"no server is called {name!r}", nearest=nearest(name, offered_names))


def disabled(name: str) -> ServerNotFound:
    """The error for a server that is configured, but switched off."""
    return ServerNotFound(f"the server {name!r} is disabled; `toolcrib enable {name}` switches it on")
