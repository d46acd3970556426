"""Where the files of Toolcrib are that a server in a sandbox must not reach."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from toolcrib.config.paths import Paths
from toolcrib.connector.place import engine_folders
from toolcrib.upstream.own_places import OwnPlaces


def own_places(paths: Paths, env: Mapping[str, str], configuration: Iterable[Path]) -> OwnPlaces:
    """The folders of this gateway and of the engine that the person's other clients share; `configuration` decides what runs."""
    usual = Paths.of({})
    folders = [folder for one in (paths, usual) for folder in (one.state_dir, one.config_dir, one.cache_dir)]
    return OwnPlaces(
        hidden=tuple(dict.fromkeys([*folders, *map(Path, engine_folders(env))])),
        programs=(paths.bundles_dir, usual.bundles_dir),
        fixed=tuple(dict.fromkeys([*configuration, *_installation()])),
    )


def _installation() -> list[Path]:
    """Our own code, and the virtual environment that it runs in."""
    environment = [] if sys.prefix == sys.base_prefix else [Path(sys.prefix)]
    return [Path(__file__).parents[1], *environment]
