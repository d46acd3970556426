"""A long request taken apart into the wishes it is made of."""

from __future__ import annotations

import re

MOST_CLAUSES = 3
_FEWEST_WORDS = 3
# After "and", these begin another wish; other words go on with the same one ("white and black").
_BEGINNINGS = """
    get give find provide check create send tell list show fetch retrieve calculate compute search look suggest recommend
    help make add update delete remove set schedule book order buy translate convert generate analyze analyse compare
    determine identify explain describe let see know save write read open run upload download share post publish play
    track monitor estimate predict validate verify record notify register submit obtain include summarize summarise sort
    filter plan display could can would please what how when where who which is are also then i we
"""
_JOINTS = re.compile(
    r"(?<=[.!?;]) "
    r"|,? (?:and then|then|also|after that|afterwards|as well as|additionally|furthermore|moreover|finally),? "
    rf"|,? (?:and|or|but) (?=(?:{'|'.join(_BEGINNINGS.split())})\b)",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """Up to three parts of a request that asks for several things, in order; none where it is one wish."""
    parts = [part.strip(" ,.;") for part in _JOINTS.split(" ".join(text.split()))]
    parts = [part for part in parts if part.count(" ") >= _FEWEST_WORDS - 1]
    while len(parts) > MOST_CLAUSES:
        # The two neighbours that are shortest together stand as one.
        first = min(range(len(parts) - 1), key=lambda place: len(parts[place]) + len(parts[place + 1]))
        parts[first : first + 2] = [f"{parts[first]}. {parts[first + 1]}"]
    return parts if len(parts) > 1 else []
