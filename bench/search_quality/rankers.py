"""The rankers that can be measured, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.util import find_spec

from bench.search_quality.minilm import PACKAGE, minilm
from bench.search_quality.ours import Shipped, Words, meaning
from bench.search_quality.ranker import Ranker
from bench.search_quality.rivals import FastMcp, PlainBm25, Substrings, bm25_and_minilm
from bench.search_quality.vectors import VectorCache

OURS = "toolcrib"
RANKERS: dict[str, Callable[[VectorCache], Ranker]] = {
    OURS: Shipped,
    "bm25f": Words,
    "encoder": meaning,
    "substrings": Substrings,
    "bm25": PlainBm25,
    "fastmcp": FastMcp,
    "minilm": minilm,
    "bm25+minilm": bm25_and_minilm,
}


# The package that a ranker is nothing without.
NEEDED = {"fastmcp": "fastmcp", "minilm": PACKAGE, "bm25+minilm": PACKAGE}


def installed(names: Iterable[str]) -> list[str]:
    """Those of the named rankers that can be run here; a line is printed for each other."""
    missing = [name for name in names if name in NEEDED and find_spec(NEEDED[name]) is None]
    for name in missing:
        print(f"{name}: left out, the package {NEEDED[name]} is not installed (requirements/bench.txt)")
    return [name for name in names if name not in missing]
