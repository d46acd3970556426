"""Queries as people mistype them."""

from __future__ import annotations

import random
import re
import string

# One edit in this share of the words that are long enough to survive it.
SHARE = 0.3
_LONGER_WORD = re.compile(r"[^\W\d_]{5,}")


def mistype(text: str, chance: random.Random) -> str:
    """The text with one edit in about a third of its longer words, in at least one where there are any."""
    words = list(_LONGER_WORD.finditer(text))
    if not words:
        return text
    picked = [word for word in words if chance.random() < SHARE] or [chance.choice(words)]
    for word in reversed(picked):
        text = text[: word.start()] + edit(word.group(), chance) + text[word.end() :]
    return text


def edit(word: str, chance: random.Random) -> str:
    """One letter dropped, doubled, replaced, added or swapped with the next."""
    place = chance.randrange(len(word))
    letter = chance.choice(string.ascii_lowercase)
    kind = chance.choice(("drop", "double", "replace", "add", "swap", "swap"))
    if kind == "drop":
        return word[:place] + word[place + 1 :]
    if kind == "double":
        return word[: place + 1] + word[place:]
    if kind == "replace":
        return word[:place] + letter + word[place + 1 :]
    if kind == "add":
        return word[:place] + letter + word[place:]
    place = min(place, len(word) - 2)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
