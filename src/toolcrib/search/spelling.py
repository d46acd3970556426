"""Mistyped words of a query put right, by the words that tools and people use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.terms import plain, stem

# Words of the trade that the encoder's vocabulary knows only in pieces ("login"), written by training/words.py.
OTHER_WORDS = Path(__file__).parent / "weights" / "words.txt"

_WORD = re.compile(r"[^\W\d_]+")
# Shorter words have too many neighbours, and are as often names or abbreviations.
_SHORTEST = 4
_LONGEST = 24
# One edit changes at most two letters of the set that a word is made of.
_MOST_LETTERS_APART = 2


class Spelling:
    """Puts a word nobody knows as the one known word that is a single edit away.

    `words` are everyday words, most common first; `is_known` and `terms` tell the stems that the tools use; a word
    that `is_spared`, in small letters, is right as it is.
    """

    def __init__(
        self,
        words: Iterable[str],
        is_known: Callable[[str], bool],
        terms: Iterable[str],
        is_spared: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._is_known = is_known
        self._is_spared = is_spared
        everyday = dict.fromkeys(filter(_is_plain, words))
        # The everyday words, whose place is their rank, then those of the tools alone.
        self._candidates = [*everyday, *(term for term in terms if _is_plain(term) and term not in everyday)]
        self._everyday = len(everyday)
        self._letters = _letter_sets(self._candidates)
        self._lengths = np.array([len(word) for word in self._candidates], dtype=np.int16)

    def corrected(self, text: str) -> str:
        """The text with its mistyped words put right; equal to the text where there are none."""
        return _WORD.sub(lambda match: self._word(match.group()), text)

    def _word(self, word: str) -> str:
        typed = plain(word)
        if not may_be_mistyped(typed) or self._is_known(stem(typed)) or self._is_spared(typed):
            return word
        places = self._hopeful(typed).tolist()
        if any(place < self._everyday and self._candidates[place] == typed for place in places):
            return word
        near = [place for place in places if _is_one_edit(typed, self._candidates[place])]
        return self._candidates[min(near, key=lambda place: self._preference(typed, place))] if near else word

    def _hopeful(self, word: str) -> NDArray[np.int64]:
        """Places of the words of about the same letters and length."""
        if not self._candidates:
            return np.empty(0, dtype=np.int64)
        apart = np.bitwise_count(self._letters ^ _letter_sets([word]))
        is_near = (apart <= _MOST_LETTERS_APART) & (np.abs(self._lengths - len(word)) <= 1)
        return np.flatnonzero(is_near)

    def _preference(self, typed: str, place: int) -> tuple[bool, bool, int, str]:
        """A word of the tools first, then one with two letters swapped, the likeliest slip, then the more common one."""
        word = self._candidates[place]
        return not self._is_known(stem(word)), not _is_swap(typed, word), min(place, self._everyday), word


def longer_words(text: str) -> list[str]:
    """The words of a text that may be mistyped ones, as they are looked up."""
    return [word for word in map(plain, _WORD.findall(text)) if may_be_mistyped(word)]


def may_be_mistyped(word: str) -> bool:
    """Whether a plain word is one that can be told right from wrong, by its length and script."""
    return _SHORTEST <= len(word) <= _LONGEST and word.isascii()


@lru_cache(maxsize=1)
def other_words() -> dict[str, None]:
    """The words of the trade, the most used first; quick to look up."""
    return dict.fromkeys(OTHER_WORDS.read_text(encoding="ascii").split())


def _is_plain(word: str) -> bool:
    return len(word) >= _SHORTEST - 1 and word.isascii() and word.isalpha() and word.islower()


def _letter_sets(words: Sequence[str]) -> NDArray[np.uint32]:
    """For each word the letters it is made of, one bit a letter."""
    if not words:
        return np.empty(0, dtype=np.uint32)
    letters = np.frombuffer("".join(words).encode("ascii", "replace"), dtype=np.uint8)
    bits = np.uint32(1) << ((letters - np.uint8(ord("a"))) % np.uint8(32)).astype(np.uint32)
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    return np.bitwise_or.reduceat(bits, np.cumsum(lengths) - lengths)


def _is_one_edit(word: str, other: str) -> bool:
    """Whether dropping, adding, replacing or swapping one letter makes one word of the other."""
    shorter, longer = sorted((word, other), key=len)
    place = next((at for at, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if len(shorter) != len(longer):
        return len(longer) - len(shorter) == 1 and shorter[place:] == longer[place + 1 :]
    return word != other and (word[place + 1 :] == other[place + 1 :] or _is_swap(word, other))


def _is_swap(word: str, other: str) -> bool:
    """Whether two neighbouring letters in the other order make one word of the other."""
    if len(word) != len(other):
        return False
    apart = [place for place, (a, b) in enumerate(zip(word, other, strict=True)) if a != b]
    if len(apart) != 2 or apart[1] != apart[0] + 1:
        return False
    first, second = apart
    return word[first] == other[second] and word[second] == other[first]
