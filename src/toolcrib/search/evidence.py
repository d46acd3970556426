"""What speaks for each tool that a query might mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolcrib.search.array_types import Floats, Numbers
from toolcrib.search.bm25 import Block, Bm25
from toolcrib.search.query import Query
from toolcrib.search.vectors import Vectors

# Candidates for the whole query; each clause adds a few of its own.
POOL = 100
_CLAUSE_POOL = 20
_SPARE = 4
# Closeness of a tool that has no vector yet, guessed from its words (share, of_best): between what suits wordy and vague
# queries best, measured with vectors for half of the servers.
_GUESSED_BY_SHARE, _GUESSED_BY_BEST = np.float32(0.7), np.float32(0.45)


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing asked for, in words and as a vector.

    It is not understood where nobody knows any of its words, and `wants_tool` if it is one of several that want a tool each.
    """

    query: Query
    vector: Floats
    is_understood: bool = True
    wants_tool: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """Candidates and, for each, how well the words and the meaning fit.

    `share` is the part of the query's weight that the tool's words match, so words that match little count for little;
    `of_best` is the same against the best tool. `closeness` is that of the meanings. What begins with `clause_` is the
    best over the clauses of the query, or the same again where it has none. `by_clause` has a table for each clause
    that wants a tool of its own: share, of_best and closeness in rows, the candidates in columns.
    """

    numbers: Numbers
    share: Floats
    of_best: Floats
    closeness: Floats
    clause_closeness: Floats
    clause_share: Floats
    clause_of_best: Floats
    by_clause: Floats


def gather(
    words: Bm25,
    vectors: Vectors,
    intents: Sequence[Intent],
    block: Block | None,
    pool: int = POOL,
    *,
    also: Sequence[int] = (),
    aside: bool = False,
) -> Evidence:
    """Look at the tools that words or meaning bring up, and `also` at some; the first intent is the whole query, the others its clauses.

    Only at what is `aside`, or only at the rest.
    """
    shares = [_shares(words, intent.query, block, aside=aside) for intent in intents]
    # Some of the nearest may be of the others.
    spare = words.size if aside else min(words.aside, _SPARE * pool)
    numbers = _candidates(shares, vectors, intents, block, words.size, pool, also, spare)
    if words.aside or aside:
        numbers = numbers[words.is_aside(numbers) == aside]
    own = np.stack([one[numbers] for one in shares])
    of_best = own / np.array([max(one.max(initial=0.0), 1e-6) for one in shares], dtype=np.float32)[:, None]
    guessed = _GUESSED_BY_SHARE * own + _GUESSED_BY_BEST * of_best
    closeness = _closeness(vectors, intents, numbers, guessed.T)
    clauses = slice(1, None) if len(intents) > 1 else slice(0, None)
    return Evidence(
        numbers=numbers,
        share=own[0],
        of_best=of_best[0],
        closeness=closeness[:, 0],
        clause_closeness=closeness.max(axis=1),
        clause_share=own[clauses].max(axis=0),
        clause_of_best=of_best[clauses].max(axis=0),
        by_clause=np.stack([own, of_best, closeness.T], axis=1)[[intent.wants_tool for intent in intents]],
    )


def _shares(words: Bm25, query: Query, block: Block | None, *, aside: bool) -> Floats:
    """For every tool the share of a perfect score; 0 outside of the block."""
    scores = words.scores(query.all, aside=aside)
    scores /= np.float32(max(words.ideal(query.own), 1e-6))
    if block is not None:
        scores[: block.start] = 0
        scores[block.stop :] = 0
    return scores


def _candidates(
    shares: Sequence[Floats],
    vectors: Vectors,
    intents: Sequence[Intent],
    block: Block | None,
    size: int,
    pool: int,
    also: Sequence[int],
    spare: int,
) -> Numbers:
    found = [np.array(also, dtype=np.int64)]
    for place, (share, intent) in enumerate(zip(shares, intents, strict=True)):
        count = pool if place == 0 else min(pool, _CLAUSE_POOL)
        found += [_highest(share, count), _near(vectors, intent.vector, count + spare, block, size)]
    places = np.sort(np.concatenate(found))
    # `np.unique` would load masked arrays for this, ten milliseconds of a command.
    return places[np.diff(places, prepend=-1) > 0]


def _highest(scores: Floats, count: int) -> Numbers:
    """The numbers of the highest scores above 0, in no order."""
    top = np.argpartition(-scores, count)[:count] if len(scores) > count else np.arange(len(scores))
    return top[scores[top] > 0]


def _near(vectors: Vectors, vector: Floats, count: int, block: Block | None, size: int) -> Numbers:
    if block is None:
        return vectors.nearest(vector, count, size)
    own = np.arange(block.start, block.stop)
    return own[vectors.has(own)]


def _closeness(vectors: Vectors, intents: Sequence[Intent], numbers: Numbers, guessed: Floats) -> Floats:
    """Candidates by intents; the guess for a tool without a vector."""
    cosines = vectors.cosines(numbers, np.stack([intent.vector for intent in intents]))
    return np.where(np.isnan(cosines), guessed, cosines)
