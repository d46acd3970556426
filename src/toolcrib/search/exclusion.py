"""Servers that a request does not want: "search the web, but not with Firecrawl"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from toolcrib.search.terms import fold

_UNWANTED = re.compile(
    r"\b(?:not|without|except|excluding|avoid|avoiding|instead of|other than|rather than|anything but)\s+"
    r"(?:(?:with|using|use|via|through|on|in|from|by|for|the)\s+)*"
    r"([^\W_][\w.-]*\w)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")


def unwanted_servers(text: str, servers: Iterable[str], is_everyday: Callable[[str], bool]) -> set[str]:
    """The servers with a word in their name that stands after a "not"; an everyday word only if it has a capital."""
    found = _UNWANTED.findall(text)
    names = {_plain(name) for name in found if name[0].isupper() or not is_everyday(_plain(name))}
    if not names:
        return set()
    return {server for server in servers if not names.isdisjoint(map(_plain, _WORD.findall(server)))}


def _plain(word: str) -> str:
    return fold(word).lower()
