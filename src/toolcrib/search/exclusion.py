"""What a request does not want: "search the web, but not with Firecrawl", "anything but create_issue"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from toolcrib.search.terms import plain, squash

# The name is followed by nothing that it may only describe ("without Slack account").
_UNWANTED = re.compile(
    r"\b(?:not|without|except|excluding|avoid|avoiding|instead of|other than|rather than|anything but)\s+"
    r"(?:(?:with|using|use|via|through|on|in|from|by|for|the)\s+)*"
    r"([^\W_](?:[\w.:-]*\w)?)(?=\s*(?:$|[.,;:!?)]|\b(?:please|and|but|or|for|to|because|thanks)\b))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")


def unwanted_names(text: str) -> list[str]:
    """The names that stand after a "not" and nowhere else."""
    kept = {squash(word) for word in _UNWANTED.sub(" ", text).split()}
    return [name for name in _UNWANTED.findall(text) if squash(name) not in kept]


def unwanted_servers(text: str, servers: Iterable[str], is_everyday: Callable[[str], bool]) -> set[str]:
    """The servers so named, in full or by a word of their name; by an everyday word only if it has a capital."""
    names = [name for name in unwanted_names(text) if _is_telling(name, text, is_everyday)]
    if not names:
        return set()
    words, whole = {plain(name) for name in names}, {squash(name) for name in names}
    return {
        server
        for server in servers
        if squash(server) in whole or not words.isdisjoint(map(plain, _WORD.findall(server)))
    }


def _is_telling(name: str, text: str, is_everyday: Callable[[str], bool]) -> bool:
    has_capital = name[0].isupper() and not text.isupper()
    return has_capital or (len(name) > 1 and not is_everyday(plain(name)))
