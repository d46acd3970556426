"""How much is known of whoever published a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from toolcrib.config.settings import OFFICIAL_REGISTRY

Tier = Literal["official", "verified", "community", "unknown"]

WEIGHTS: Mapping[Tier, float] = {"official": 1.0, "verified": 0.8, "community": 0.5, "unknown": 0.2}
REASONS: Mapping[Tier, str] = {
    "official": "published by the MCP project",
    "verified": "the publisher proved that they own a domain",
    "community": "the publisher proved that they own a code-hosting account",
    "unknown": "from a registry whose checks are not known",
}
_PROJECT = frozenset({"io.modelcontextprotocol", "io.github.modelcontextprotocol"})
_ACCOUNTS = ("io.github.", "com.github.", "io.gitlab.", "com.gitlab.")


def tier_of(name: str, registry: str) -> Tier:
    """Only the official registry proves namespaces; what another one says of itself counts for nothing."""
    namespace = name.partition("/")[0].lower()
    if registry != OFFICIAL_REGISTRY:
        return "unknown"
    if namespace in _PROJECT:
        return "official"
    return "community" if namespace.startswith(_ACCOUNTS) else "verified"
