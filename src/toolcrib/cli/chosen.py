"""The servers a command is about: those named, or all."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.app.offline import offered
from toolcrib.config.settings import Settings
from toolcrib.errors import ServerNotFound
from toolcrib.model.server import ServerSpec
from toolcrib.search.suggest import nearest


def chosen_servers(settings: Settings, names: Sequence[str]) -> list[ServerSpec]:
    """In the order of the configuration; a name that nobody has raises ServerNotFound."""
    specs = {spec.name: spec for spec in offered(settings)}
    for name in names:
        if name not in specs:
            raise ServerNotFound(f"no server is called {name!r}", nearest=nearest(name, specs))
    return [spec for name, spec in specs.items() if not names or name in names]
