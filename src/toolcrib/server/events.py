"""What a client hears while its call runs: progress and log messages, filtered as it asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.model.call import LogMessage
from toolcrib.wire.protocol import LOG_LEVEL_META_KEY, LOG_LEVELS

DEFAULT_LEVEL = "info"


def wanted_level(meta: Mapping[str, Any], session_level: str | None, *, modern: bool) -> str | None:
    """The lowest level this request asks for; the modern era hears nothing unless it asks."""
    if modern:
        level = meta.get(LOG_LEVEL_META_KEY)
        return level if level in LOG_LEVELS else None
    return session_level or DEFAULT_LEVEL


def passes(event: LogMessage, level: str | None) -> bool:
    """Whether a log message is at or above the level asked for; an unknown level is let through."""
    said = event.params.get("level")
    if level is None:
        return False
    return said not in LOG_LEVELS or LOG_LEVELS.index(str(said)) >= LOG_LEVELS.index(level)
