"""How much work one check may cost: steps, and time spent in regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import regex

MAX_REGEX_CHARACTERS = 2_000
MAX_UNROLLED = 100_000

_COUNT = re.compile(r"\{(\d+)")
_GROUP_COUNT = re.compile(r"\)\s*\{(\d+)")
_VERBOSE = re.compile(r"\(\?[A-Za-z-]*x")


class Unusable(Exception):
    """A schema, or one check against it, that cannot be brought to an end; the message says why."""


class Budget:
    """What is left for one check; runs out by raising Unusable."""

    def __init__(self, steps: int, regex_seconds: float, now: Callable[[], float]) -> None:
        self._steps = steps
        self._regex_seconds = regex_seconds
        self._now = now

    def spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise Unusable("checking the arguments against the schema takes too many steps")

    def search(self, pattern: str, text: str) -> bool:
        """Whether the pattern is found in the text, within the time left for all patterns of this check."""
        compiled = _compiled(pattern)
        started = self._now()
        try:
            if self._regex_seconds <= 0:
                raise TimeoutError
            return compiled.search(text, timeout=self._regex_seconds) is not None
        except TimeoutError:
            raise Unusable(f"the pattern {pattern[:60]!r} takes too long") from None
        finally:
            self._regex_seconds -= self._now() - started


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    if len(pattern) > MAX_REGEX_CHARACTERS or _VERBOSE.search(pattern) or _unrolled(pattern) > MAX_UNROLLED:
        raise Unusable(f"the pattern {pattern[:60]!r} is too large")
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError, ValueError):
        raise Unusable(f"the pattern {pattern[:60]!r} cannot be read") from None


def _unrolled(pattern: str) -> int:
    """At least the number of items the engine makes of the pattern: it unrolls fixed repeats while compiling."""
    items = len(pattern) + sum(map(int, _COUNT.findall(pattern)))
    return items * prod(max(1, int(count)) for count in _GROUP_COUNT.findall(pattern))
