"""How a client starts us: an absolute path that exists, and what it must be told."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from toolcrib.clients.own_entry import OwnLaunch
from toolcrib.config.paths import expanded
from toolcrib.model.server import BUILT_IN_SERVER

# Where our files are, when TOOLCRIB_HOME does not say.
_FOLDERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
_UV_ENVIRONMENTS = ("archive-v0", "environments-v2")


def own_launch(env: Mapping[str, str], config: Path | None, *, python: Path | None = None) -> OwnLaunch:
    """The launch for this installation; a chosen configuration file or home goes with it.

    Desktop programs do not see the variables of a shell, so what was set there is written down.
    """
    words = _program(python or Path(sys.executable), env.get("PATH"))
    told = ("--config", str(config)) if config else ()
    places = ("TOOLCRIB_HOME",) if env.get("TOOLCRIB_HOME") else _FOLDERS
    kept = {name: str(expanded(place).absolute()) for name in places if (place := env.get(name))}
    return OwnLaunch(words[0], (*words[1:], *told, "serve"), kept)


def _program(python: Path, search: str | None) -> tuple[str, ...]:
    runner = shutil.which("uvx", path=search)
    if runner and any(part in _UV_ENVIRONMENTS for part in python.parts):
        # uv throws such an environment away one day; its runner makes it again.
        return (str(Path(runner).absolute()), BUILT_IN_SERVER)
    beside = shutil.which(BUILT_IN_SERVER, path=str(python.parent))
    if beside:
        return (str(Path(beside).absolute()),)
    return (str(python.absolute()), "-m", BUILT_IN_SERVER)
