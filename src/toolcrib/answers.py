"""Keeping answers small: how many hits fit, and what to say beside them."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.model.view import SearchHit

SEARCH_BUDGET_TOKENS = 200
# Measured with o200k_base over search answers of real servers (bench/tokens.py).
CHARACTERS_PER_TOKEN = 3.6
ANSWER_FRAME_CHARACTERS = 14
HIT_FRAME_CHARACTERS = 52
# Where no hit is more relevant than this, servers that are not installed are worth a word.
WEAK_HIT = 0.3
# A hit far below the best one is noise that costs tokens.
CLIFF = 0.35

SWITCHED_OFF = "Discovery is switched off in the configuration (discovery.enabled: false)."


def pack_hits(hits: Sequence[SearchHit]) -> tuple[SearchHit, ...]:
    """The best hits that fit the token budget of one answer, at least one."""
    left = SEARCH_BUDGET_TOKENS * CHARACTERS_PER_TOKEN - ANSWER_FRAME_CHARACTERS
    packed: list[SearchHit] = []
    for hit in hits:
        left -= _characters(hit)
        if packed and (left < 0 or hit.relevance < hits[0].relevance * CLIFF):
            break
        packed.append(hit)
    return tuple(packed)


def _characters(hit: SearchHit) -> int:
    texts = (hit.server, hit.tool, hit.summary, *hit.tags)
    return HIT_FRAME_CHARACTERS + sum(map(len, texts)) + 3 * len(hit.tags)


def search_note(
    *, found: bool, pending: int, server: str | None, enabled: bool = True, elsewhere: Sequence[str] = ()
) -> str:
    """What the caller should know beside the hits; usually nothing. `elsewhere` are servers of registries that may fit."""
    if not enabled:
        return SWITCHED_OFF
    notes = []
    if not found:
        where = f" on server {server}" if server else ""
        notes.append(f"Nothing fits{where}. Try other words, or list_mcp_servers.")
    if pending:
        noun = "server is" if pending == 1 else "servers are"
        notes.append(f"{pending} {noun} still being read; search again shortly.")
    if elsewhere:
        notes.append(f"Not installed, but may fit (a person must add them): {', '.join(elsewhere)}.")
    return " ".join(notes)
