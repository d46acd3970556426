"""What a tool does to the flow of data: what it brings in, and what it can carry away."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from toolcrib.model.snake_case import snake_case
from toolcrib.model.verbs import CHANGING_VERBS, READING_VERBS

# What the person keeps to themselves, what strangers wrote, and a way to somewhere else. Each is harmless alone.
DataFlow = Literal["private", "foreign", "outward"]
# What is done where one session has all three.
OnMix = Literal["warn", "confirm", "ignore"]
ON_MIXES: tuple[OnMix, ...] = ("warn", "confirm", "ignore")
_FROM_LEAST: tuple[OnMix, ...] = ("ignore", "warn", "confirm")

_KEPT = frozenset(
    """
    attachment calendar clipboard contact contacts credential credentials customer customers database db directory disk
    doc docs document documents drive email emails entity env environment file files filesystem folder fs graph inbox
    invoice invoices mail memory mysql note notes postgres record records repo repository row rows schema secret secrets
    sql sqlite table tables vault
    """.split()
)
_WRITTEN_BY_ANYBODY = frozenset(
    """
    article articles browser channel chat comment comments crawl discord email emails feed feeds fetch forum html http
    inbox issue issues mail message messages news page pages post posts pr prs pull rss scrape site slack thread threads
    ticket tickets tweet tweets url urls web website
    """.split()
)
_SENDING = frozenset(
    """
    comment email fax forward invite mail message notify post publish push reply send share sms submit tweet upload
    webhook
    """.split()
)
# Whoever names the address decides where the rest of it goes.
_ADDRESSES = frozenset("address endpoint uri url urls webhook webhook_url".split())


def data_flows_of(
    server: str, name: str, hints: Mapping[str, Any], parameters: Mapping[str, Any]
) -> frozenset[DataFlow]:
    """Told by names, parameters and what the server says of the tool; a tool that stays in its own world sends nothing away."""
    words = {*_words(server), *_words(name)}
    is_closed, is_open = hints.get("openWorldHint") is False, hints.get("openWorldHint") is True
    reads = hints.get("readOnlyHint") is True or _verb(name) in READING_VERBS
    takes_address = not _ADDRESSES.isdisjoint(map(snake_case, parameters))
    found: dict[DataFlow, bool] = {
        "private": reads and not words.isdisjoint(_KEPT),
        "foreign": not is_closed and not words.isdisjoint(_WRITTEN_BY_ANYBODY) and (reads or takes_address),
        "outward": not is_closed
        and (takes_address or (not reads and (is_open or not _SENDING.isdisjoint(_words(name))))),
    }
    return frozenset(flow for flow, is_found in found.items() if is_found)


def _verb(name: str) -> str:
    """The first word that says what is done; what follows is as often a thing (read_email, get_post)."""
    return next((word for word in _words(name) if word in READING_VERBS or word in CHANGING_VERBS), "")


def _words(name: str) -> list[str]:
    return re.split(r"[^a-z]+", snake_case(name))


def stricter_mix(one: OnMix, other: OnMix) -> OnMix:
    return max(one, other, key=_FROM_LEAST.index)
