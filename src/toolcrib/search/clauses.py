"""A long request taken apart into the wishes it is made of."""

from __future__ import annotations

import re

MOST_CLAUSES = 3
_FEWEST_WORDS = 3
_JOINTS = re.compile(
    r"(?<=[.!?;])\s+"  # sentences
    r"|\n+"
    r"|,?\s+(?:and then|then|also|after that|afterwards|as well as)\s+"
    r"|,?\s+and\s+(?=[a-z]+\s)",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """Up to three parts of a request that asks for several things, the longest ones; none where it is one wish."""
    parts = [part.strip(" ,.;") for part in _JOINTS.split(text)]
    whole = [part for part in parts if len(part.split()) >= _FEWEST_WORDS]
    if len(whole) < 2:
        return []
    longest = sorted(whole, key=len, reverse=True)[:MOST_CLAUSES]
    return [part for part in whole if part in longest][:MOST_CLAUSES]
