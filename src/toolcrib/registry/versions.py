"""Which of several versions of a server is the newest."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolcrib.registry.entry import RegistryServer

_SEMANTIC = re.compile(r"v?(\d{1,18})\.(\d{1,18})\.(\d{1,18})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")

Order = tuple[bool, bool, tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...], str]


def only_newest(servers: Iterable[RegistryServer]) -> list[RegistryServer]:
    """One version of each server: the registry's own word decides, then the semantic order, then the publication."""
    best: dict[str, RegistryServer] = {}
    for server in servers:
        known = best.get(server.name)
        if known is None or order(server) > order(known):
            best[server.name] = server
    return list(best.values())


def order(server: RegistryServer) -> Order:
    """Greater is newer; a semantic version is later than any other text."""
    match = _SEMANTIC.fullmatch(server.version)
    if match is None:
        return (server.is_latest is True, False, (0, 0, 0), False, (), server.published_at)
    numbers = (int(match[1]), int(match[2]), int(match[3]))
    before = match[4]
    parts = tuple(_part(part) for part in before.split(".")) if before else ()
    return (server.is_latest is True, True, numbers, before is None, parts, server.published_at)


def _part(text: str) -> tuple[bool, int, str]:
    # Numbers are lower than words in a pre-release.
    return (False, int(text), "") if text.isdecimal() and len(text) <= 18 else (True, 0, text)
