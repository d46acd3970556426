"""Text to the word pieces that the encoder was trained on, by the rules of BERT's uncased vocabulary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

MAX_WORD_CHARACTERS = 100
# Enough text for any number of pieces the encoder reads; more would only be thrown away.
MAX_CHARACTERS = 20_000
_MAX_KNOWN_WORDS = 1 << 14

_PADDING, _UNKNOWN, _START, _END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
_CONTINUED = "##"

_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
_REPLACEMENT = "\ufffd"
# Controls, formats, private use, surrogates.
_LEFT_OUT = frozenset(("Cc", "Cf", "Co", "Cs"))
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class Tokenizer:
    """Word pieces as numbers: those of the vocabulary in its order."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._longest = max(map(len, self._numbers))
        self.padding = self._numbers[_PADDING]
        self._unknown = self._numbers[_UNKNOWN]
        self._start, self._end = self._numbers[_START], self._numbers[_END]
        # Tool texts repeat their words; a dictionary that is emptied when full needs no lock.
        self._known: dict[str, tuple[int, ...]] = {}

    @property
    def whole_words(self) -> list[str]:
        """The pieces that are words of their own, in the vocabulary's order."""
        return [piece for piece in self._numbers if not piece.startswith(_CONTINUED)]

    def has(self, piece: str) -> bool:
        return piece in self._numbers

    def encode(self, text: str, limit: int) -> list[int]:
        """The numbers of a text between its start and end marks, `limit` of them at most."""
        return [self._start, *self.pieces(text, limit - 2), self._end]

    def pieces(self, text: str, limit: int) -> list[int]:
        """The numbers of a text without marks, cut at `limit`."""
        found: list[int] = []
        for word in words(text[:MAX_CHARACTERS]):
            found += self._word(word)
            if len(found) >= limit:
                return found[:limit]
        return found

    def _word(self, word: str) -> Sequence[int]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _MAX_KNOWN_WORDS:
                self._known.clear()
            known = self._known[word] = tuple(self._split(word))
        return known

    def _split(self, word: str) -> list[int]:
        """The longest pieces from the left; a word that does not come out even is unknown as a whole."""
        if len(word) > MAX_WORD_CHARACTERS:
            return [self._unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            lead = _CONTINUED if start else ""
            stops = range(min(len(word), start + self._longest), start, -1)
            stop = next((stop for stop in stops if lead + word[start:stop] in self._numbers), None)
            if stop is None:
                return [self._unknown]
            found.append(self._numbers[lead + word[start:stop]])
            start = stop
        return found


def words(text: str) -> list[str]:
    """Lower-case words without accents; each punctuation mark and each ideograph is a word of its own."""
    if text.isascii():
        return _ASCII_WORD.findall(text.translate(_ASCII_CONTROLS).lower())
    spaced = "".join(_cleaned(text.translate(_ASCII_CONTROLS)))
    bare = (char for char in unicodedata.normalize("NFD", spaced) if unicodedata.category(char) != "Mn")
    return "".join(_punctuation_apart("".join(bare).lower())).split()


def _cleaned(text: str) -> Iterator[str]:
    """Without control characters, every kind of space as a plain one, ideographs between spaces."""
    for char in text:
        if char.isascii():
            yield char
        elif char.isspace() and unicodedata.category(char) != "Cc":
            yield " "
        elif char != _REPLACEMENT and unicodedata.category(char) not in _LEFT_OUT:
            yield f" {char} " if _is_ideograph(char) else char


def _punctuation_apart(text: str) -> Iterator[str]:
    for char in text:
        yield f" {char} " if _is_punctuation(char) else char


def _is_ideograph(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _IDEOGRAPHS)


def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return not char.isalnum() and not char.isspace() and char.isprintable()
    return unicodedata.category(char).startswith("P")
