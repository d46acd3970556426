"""A long request taken apart into the wishes it is made of."""

from __future__ import annotations

import re

MOST_CLAUSES = 3
_FEWEST_WORDS = 3
# Of a text longer than this the encoder reads only beginnings: what a long story leads up to stands alone, to be read.
_LONG_STORY = 1_000
# After "and" or a comma, these begin another wish; other words go on with the same one ("white and black").
_VERBS = """
    get give find provide check create send tell list show fetch retrieve calculate compute search look suggest recommend
    help make add update delete remove set schedule book order buy translate convert generate analyze analyse compare
    determine identify explain describe save write read open run upload download share post publish play track monitor
    estimate predict validate verify record notify register submit obtain summarize summarise sort filter plan display
    take refund email mail commit push pull close log cancel invite draft reply rename move copy export import merge deploy
    start stop restart pay charge transfer approve assign archive attach message remind turn switch put
"""
# After "and" these do too.
_OTHERS = "let see know include could can would please what how when where who which is are also then i we"
_VERB = "|".join(_VERBS.split())
_BEGINNING = "|".join((*_VERBS.split(), *_OTHERS.split()))
_JOINTS = re.compile(
    r"(?<=[.!?;]) "
    r"|,? (?:and then|then|also|after that|afterwards|as well as|additionally|furthermore|moreover|finally),? "
    rf"|,? (?:and|or|but) (?=(?:{_BEGINNING})\b)"
    rf"|, (?=(?:{_VERB})\b)",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """Up to three parts of a request that asks for several things, in order; none where it is one wish."""
    parts = [part.strip(" ,.;") for part in _JOINTS.split(" ".join(text.split()))]
    parts = [part for part in parts if part.count(" ") >= _FEWEST_WORDS - 1]
    alone = 1 if len(text) > _LONG_STORY else 0
    while len(parts) > MOST_CLAUSES:
        # The two neighbours that are shortest together stand as one.
        first = min(range(len(parts) - 1 - alone), key=lambda place: len(parts[place]) + len(parts[place + 1]))
        parts[first : first + 2] = [f"{parts[first]}. {parts[first + 1]}"]
    return parts if len(parts) > 1 else []
