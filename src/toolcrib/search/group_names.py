"""How groups of an index are named: the server, which one of several so named, and whether it holds tools."""

from __future__ import annotations

from typing import Final

# What the names of groups end with that hold other things than tools: no word gets less telling for tools by them.
ASIDE: Final = "#items"


def is_aside(group: str) -> bool:
    """Whether a group holds what is no tool."""
    return group.endswith(ASIDE)


def server_of(group: str) -> str:
    """The name of the server whose tools a group holds."""
    return group.partition("@")[0]
