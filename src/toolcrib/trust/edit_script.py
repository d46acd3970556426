"""What two sequences have in common, found in time that is bounded however they were chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

# Looking for more costs time that somebody who wrote both texts could make as long as they like.
STEPS_A_PART = 40
LEAST_STEPS = 20_000

# Where it begins in the one and in the other, and how long it is.
Run = tuple[int, int, int]


def common_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[Run]:
    """What stayed, in order, with as few changes as possible between (Myers, 1986).

    Where there are too many, only what both begin and end with.
    """
    shorter = min(len(old), len(new))
    start = _alike(zip(old, new, strict=False))
    end = min(_alike(zip(reversed(old), reversed(new), strict=False)), shorter - start)
    if start:
        yield 0, 0, start
    middle = old[start : len(old) - end], new[start : len(new) - end]
    for at, new_at, length in _shortest_way(*middle):
        yield at + start, new_at + start, length
    if end:
        yield len(old) - end, len(new) - end, end


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    """How many pairs are equal before the first one that is not."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _shortest_way(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    reached: dict[int, int] = {1: 0}
    steps = max(LEAST_STEPS, STEPS_A_PART * (len(old) + len(new)))
    rounds: list[Mapping[int, int]] = []
    while steps > 0:
        changes = len(rounds)
        rounds.append(dict(reached))
        # A diagonal holds the places that lie behind equally many more removals than additions.
        for diagonal in range(-changes, changes + 1, 2):
            at = start = _next_place(reached, diagonal, changes)
            while at < len(old) and at - diagonal < len(new) and old[at] == new[at - diagonal]:
                at += 1
            reached[diagonal] = at
            steps -= 2 + at - start
            if diagonal == len(old) - len(new) and at >= len(old):
                return _followed_back(rounds, len(old), len(new))
    return []


def _next_place(reached: Mapping[int, int], diagonal: int, changes: int) -> int:
    """One change further than the place that a neighbouring diagonal reached: by an addition, or by a removal."""
    if _is_addition(reached, diagonal, changes):
        return reached[diagonal + 1]
    return reached[diagonal - 1] + 1


def _is_addition(reached: Mapping[int, int], diagonal: int, changes: int) -> bool:
    if diagonal in {-changes, changes}:
        return diagonal == -changes
    return reached[diagonal - 1] < reached[diagonal + 1]


def _followed_back(rounds: Sequence[Mapping[int, int]], at: int, new_at: int) -> list[Run]:
    runs: list[Run] = []
    for changes in reversed(range(len(rounds))):
        reached, diagonal = rounds[changes], at - new_at
        start = _next_place(reached, diagonal, changes)
        if at > start:
            runs.append((start, start - diagonal, at - start))
        before = diagonal + 1 if _is_addition(reached, diagonal, changes) else diagonal - 1
        at = reached[before]
        new_at = at - before
    return runs[::-1]
