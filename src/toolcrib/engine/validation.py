"""A look at a configuration without using it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.engine.open_catalog import open_reading
from toolcrib.errors import ConfigurationError, Problem


@dataclass(frozen=True, slots=True)
class ConfigCheck:
    """What is wrong with a configuration (`problems`), and what its author may not expect (`warnings`).

    `file` is None where none is used, or where it can't be.
    """

    file: Path | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        return not self.problems


def validate_config(config: str | Path | None = None, *, env: Mapping[str, str] | None = None) -> ConfigCheck:
    """Everything wrong with a configuration file, or with what is found on this machine; no server is started.

    Rules are looked at over the tools that are known from disk.
    """
    env = os.environ if env is None else env
    try:
        settings = load_settings(config, env=env)
        looking = open_reading(settings, Paths.of(env))
    except ConfigurationError as error:
        return ConfigCheck(None, error.problems)
    try:
        return ConfigCheck(settings.file, settings.problems, (*settings.warnings, *looking.workspace.warnings()))
    finally:
        looking.close()
