"""Words that nobody knows and nobody mistyped either: other languages, words made of known ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from toolcrib.search.terms import stem

# Little words of other languages; one alone may be part of a name ("El Paso").
_FOREIGN = frozenset(
    """
    der dem ein eine einen einer und oder nicht ist sind wird mit für von zum zur auf aus bei nach mein meine meinen meiner ich du wir mir
    le les une un et est sont dans pour avec sur mon ma mes moi je nous vous que qui au aux cette ce
    el la los las una uno en y es por para con del mi mis tu está este esta esto quién qué cómo donde de
    il gli della di che nel sono mio mia questo um uma não meu minha na het een voor ik mijn
    """.split()
)
_BEGINNINGS = ("un", "re", "de", "dis", "pre", "non", "mis", "over", "sub", "auto", "multi")
_ENDINGS = ("ing", "ings", "ed", "er", "ers", "es", "s", "ly", "able", "ness", "less")
_SHORTEST_REST = 4
_WORD = re.compile(r"[^\W\d_]+")


def is_foreign(text: str) -> bool:
    """Whether a text is no English sentence: it holds little words of another language, two or one with an accent."""
    found = {word for word in _WORD.findall(text) if not word.isupper()} & _FOREIGN
    return len(found) > 1 or any(not word.isascii() for word in found)


def is_derived(word: str, is_everyday: Callable[[str], bool]) -> bool:
    """Whether an everyday word with a usual beginning or ending makes the word: pinging, unsend."""
    return any(len(rest) >= _SHORTEST_REST and is_everyday(rest) for rest in _rests(word))


def _rests(word: str) -> Iterator[str]:
    yield from (word.removeprefix(beginning) for beginning in _BEGINNINGS if word.startswith(beginning))
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word:
            # A slip ("shiping") has another stem than the word it was made of.
            yield from (one for one in (rest, f"{rest}e", rest[:-1]) if stem(one) == stem(word))
