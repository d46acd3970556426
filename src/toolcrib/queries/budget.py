"""Keeping answers small: how many hits fit, and what to say beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import msgspec

from toolcrib.model.advice import SWITCHED_OFF
from toolcrib.model.tool import summarize
from toolcrib.model.view import SearchHit
from toolcrib.queries.json_forms import short_hit

SEARCH_BUDGET_TOKENS = 200
# Measured with o200k_base over search answers of real servers (bench/tokens.py).
CHARACTERS_PER_TOKEN = 3.6
ANSWER_FRAME_CHARACTERS = 14
NOTE_FRAME_CHARACTERS = 10
# A hit far below the best one is noise that costs tokens.
CLIFF = 0.01
# Below this chance that one of the first three is right they are more likely neighbours of what is wanted than the thing
# itself; of several that look alike each has a small chance.
NOTHING_FITS = 0.3
LOOKED_AT = 3
# What has hardly a chance is not worth a line.
NO_CHANCE = 0.01
# Where no hit is more relevant than this, servers that are not installed are worth a word.
WEAK_HIT = 0.35
# So many hits come before long summaries do: the right tool is nearly always among them.
FIRST_HITS = 5
SUMMARY_LENGTHS = (120, 90, 70, 50, 35)
NEIGHBOURS = 5
NAMED_SERVERS = 5

_encode = msgspec.json.Encoder().encode


def fits(hits: Sequence[SearchHit]) -> bool:
    """Whether one of the best hits is likely enough to be meant."""
    return round(1 - prod(1 - hit.relevance for hit in hits[:LOOKED_AT]), 4) >= NOTHING_FITS


def likely(hits: Sequence[SearchHit]) -> list[SearchHit]:
    """The hits down to the cliff; where nothing fits, the nearest few."""
    least = max(NO_CHANCE, hits[0].relevance * CLIFF) if hits else NO_CHANCE
    worth_it = [hit for hit in hits if hit.relevance >= least] or list(hits[:1])
    return worth_it if fits(hits) else worth_it[:NEIGHBOURS]


def pack_hits(hits: Sequence[SearchHit], note: str = "") -> tuple[SearchHit, ...]:
    """The best hits down to the cliff that fit the token budget beside the note, with summaries as long as leaves room for five."""
    worth_it = likely(hits)
    first = min(FIRST_HITS, len(worth_it))
    room = SEARCH_BUDGET_TOKENS * CHARACTERS_PER_TOKEN - ANSWER_FRAME_CHARACTERS
    room -= len(note) + NOTE_FRAME_CHARACTERS if note else 0
    for length in SUMMARY_LENGTHS:
        packed = _packed([replace(hit, summary=summarize(hit.summary, length)) for hit in worth_it], room)
        if len(packed) >= first:
            break
    return packed


def _packed(hits: Sequence[SearchHit], left: float) -> tuple[SearchHit, ...]:
    """As many as fit, at least one."""
    packed: list[SearchHit] = []
    for hit in hits:
        left -= _characters(hit)
        if packed and left < 0:
            break
        packed.append(hit)
    return tuple(packed)


def _characters(hit: SearchHit) -> int:
    return len(_encode(short_hit(hit)).decode()) + 1  # and the comma


def search_note(
    *,
    found: bool,
    pending: int,
    server: str | None,
    enabled: bool = True,
    none_at_all: str = "",
    near: Sequence[str] = (),
    unread: Sequence[str] = (),
    elsewhere: Sequence[str] = (),
) -> str:
    """What the caller should know beside the hits; usually nothing.

    `none_at_all` says why there is no server for the caller, where there is none. `near` are the domains closest to a query that nothing fits, `unread` the
    servers whose tools could not be read, `elsewhere` servers of registries that may fit.
    """
    if not enabled:
        return SWITCHED_OFF
    if none_at_all:
        return none_at_all
    notes = []
    if not found:
        where = f" on server {server}" if server else ""
        nearest = f" Nearest: {', '.join(near)}." if near else ""
        notes.append(f"Nothing fits{where}.{nearest} Try other words, or list_mcp_servers.")
    if pending:
        noun = "server is" if pending == 1 else "servers are"
        notes.append(f"{pending} {noun} still being read; search again shortly.")
    if unread:
        notes.append(f"Not searched, since their tools could not be read: {_named(unread)}. list_mcp_servers says why.")
    if elsewhere:
        notes.append(f"Not installed, but may fit (a person must add them): {', '.join(elsewhere)}.")
    return " ".join(notes)


def _named(servers: Sequence[str]) -> str:
    more = len(servers) - NAMED_SERVERS
    return ", ".join(servers[:NAMED_SERVERS]) + (f" and {more} more" if more > 0 else "")
