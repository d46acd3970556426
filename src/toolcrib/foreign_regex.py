"""Regular expressions written by someone else: small enough to compile, and each search under a time limit."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from math import prod
from typing import Any

MAX_CHARACTERS = 2_000
MAX_UNROLLED = 100_000

_COUNT = re.compile(r"\{(\d+)")
_GROUP_COUNT = re.compile(r"\)\s*\{(\d+)")
_VERBOSE = re.compile(r"\(\?[A-Za-z-]*x")


class BadExpression(ValueError):
    """An expression that can't be compiled, or should not be; the message says why."""


@lru_cache(maxsize=512)
def compile_foreign(source: str, flags: int = 0) -> Any:
    """The compiled expression; give every `search` a `timeout`. Raises BadExpression."""
    if len(source) > MAX_CHARACTERS:
        raise BadExpression(f"is longer than {MAX_CHARACTERS} characters")
    if _VERBOSE.search(source) or _unrolled(source) > MAX_UNROLLED:
        raise BadExpression("its repeat counts multiply to too much")
    regex = import_module("regex")  # loaded only here: most people have no expression anywhere
    try:
        return regex.compile(source, flags)
    except (regex.error, RecursionError, OverflowError, ValueError) as problem:
        raise BadExpression(f"is not a regular expression: {problem}") from None


def _unrolled(source: str) -> int:
    """At least the number of items the engine makes: it unrolls fixed repeats while compiling, and eats all memory."""
    items = len(source) + sum(map(int, _COUNT.findall(source)))
    return items * prod(max(1, int(count)) for count in _GROUP_COUNT.findall(source))
