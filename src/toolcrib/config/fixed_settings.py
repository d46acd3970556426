"""The settings that a running gateway keeps until it is started again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.config.settings import SCALARS, Settings


def fixed_values(settings: Settings) -> dict[str, Any]:
    """Their values by key, as plain JSON."""
    values = {scalar.key: getattr(settings, scalar.name) for scalar in SCALARS if not scalar.reloads}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def need_restart(started_with: Mapping[str, Any], settings: Settings) -> list[str]:
    """The keys whose values are others now than those a gateway started with."""
    now = fixed_values(settings)
    return [key for key, value in started_with.items() if key in now and now[key] != value]
