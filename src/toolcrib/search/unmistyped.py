"""Words that nobody knows and nobody mistyped either: other languages, words made of known ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# Little words of other languages that no English sentence holds.
_FOREIGN = frozenset(
    """
    der das dem den ein eine einen einer und oder nicht ist sind wird mit für von zum zur auf aus bei nach mein meine meinen meiner ich wir
    le les des du une et est sont dans pour avec sur mon mes moi je nous vous que qui au aux cette
    el los las una uno en y es por para con del al mi mis está este esta esto quién qué cómo donde
    il gli della di che nel sono per mio mia questo os um uma não meu minha em no na het een van voor met op ik mijn
    """.split()
) - frozenset("no an on in a o per den is mi al em op met van das des".split())
_BEGINNINGS = ("un", "re", "de", "dis", "pre", "non", "mis", "over", "sub", "auto", "multi")
_ENDINGS = ("ing", "ings", "ed", "er", "ers", "es", "s", "ly", "able", "ness", "less")
_VOWELS = ("i", "e", "a")
_SHORTEST_REST = 4
_WORD = re.compile(r"[^\W\d_]+")


def is_foreign(text: str) -> bool:
    """Whether a text is no English sentence: it holds a little word of another language."""
    return not _FOREIGN.isdisjoint(map(str.lower, _WORD.findall(text)))


def is_derived(word: str, is_everyday: Callable[[str], bool]) -> bool:
    """Whether an everyday word with a usual beginning or ending makes the word: pinging, unsend."""
    return any(len(rest) >= _SHORTEST_REST and is_everyday(rest) for rest in _rests(word))


def _rests(word: str) -> Iterator[str]:
    yield from (word.removeprefix(beginning) for beginning in _BEGINNINGS if word.startswith(beginning))
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        # No word doubles its last letter so: these are slips of a finger.
        if rest == word or rest.endswith(ending[0]):
            continue
        yield rest
        if ending.startswith(_VOWELS):
            yield rest + "e"
            if rest[-2:-1] == rest[-1:]:
                yield rest[:-1]
