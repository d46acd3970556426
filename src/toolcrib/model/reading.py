"""What one reading of a server told us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolcrib.model.items import ItemKind

Era = Literal["legacy", "modern"]
ListKind = Literal["tools", "prompts", "resources", "templates"]
# What a server lists besides tools, and the kind of what is in each list.
ITEM_LISTS: Mapping[ListKind, ItemKind] = {"prompts": "prompt", "resources": "resource", "templates": "template"}


@dataclass(frozen=True, slots=True)
class Identity:
    """How a server introduced itself when we connected.

    `is_guess` marks an era taken only because the question for it was not answered in time: it is asked again.
    """

    era: Era
    protocol_version: str
    server_info: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""
    is_guess: bool = False


@dataclass(frozen=True, slots=True)
class ServerReading:
    """A server's identity and full tool list; `ttl_seconds` is the server's own word on freshness, if it gave one.

    `items` are its prompts, resources and templates, as it listed them.
    """

    identity: Identity
    tools: tuple[Mapping[str, Any], ...]
    ttl_seconds: float | None = None
    warnings: tuple[str, ...] = ()
    items: tuple[tuple[ItemKind, Mapping[str, Any]], ...] = ()
    # Kinds of items that the server could not list this time: what was known of them stays.
    unlisted: tuple[ItemKind, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerListing:
    """What a server lists besides tools, each item as the server gave it."""

    identity: Identity
    items: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...] = ()
