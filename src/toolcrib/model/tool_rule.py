"""A rule about tools, as a person writes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolRule:
    """Which tools it is about, whether they are on or off, and the tags they get; without `enabled` it only tags.

    `confirm` says whether a person confirms each call of them, whatever it may do.
    """

    pattern: tuple[str, ...]
    server: str | None = None
    enabled: bool | None = None
    tags: tuple[str, ...] = ()
    confirm: bool | None = None
