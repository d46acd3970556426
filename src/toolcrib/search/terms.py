"""Text to search terms: identifiers split, accents folded, words stemmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

import Stemmer

MAX_TERM_CHARACTERS = 40

# Words that say how something is asked rather than what for. Verbs stay in: in tool names they carry the meaning.
_PHRASING = """
    a am an and any are as at be been but by can could did do does for from had has have how i if in into is it its
    me my of on or our please shall should so some than that the their them then there these they this those to us
    was we were what when where which who whose why will with would you your d ll m re s t ve
"""
_STOP_WORDS = frozenset(_PHRASING.split())
_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER_PART = re.compile(r"[A-Z]{2,}s?(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# Scripts written without spaces: two neighbouring characters stand for a word.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
# Letters that Unicode does not take apart into a base letter and an accent.
_LIGATURES = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "\u0131": "i"})
_SHORT_IDENTIFIER = 4
# Eight descriptions of 24,000 tools repeat themselves so much.
_FEWEST_DISTINCT = 1 / 3

# A word's spellings: as a whole, and in parts.
_Word = tuple[tuple[str, ...], tuple[str, ...]]


def terms(text: str) -> list[str]:
    """The stemmed terms of a document in order, with repeats; a word such as GitHub as a whole and in parts."""
    return [stem(word) for word in telling_words(text)]


def query_terms(text: str, is_known: Callable[[str], bool]) -> list[str]:
    """The stemmed terms of a query: a mixed word as a whole where documents know it so, else in parts."""
    found: list[str] = []
    for whole, parts in _words(text):
        kept = whole if not parts or any(is_known(stem(word)) for word in whole) else parts
        found.extend(stem(word) for word in kept if word not in _STOP_WORDS)
    return found


def telling_words(text: str) -> Iterator[str]:
    """What `terms` gives, before it is stemmed."""
    return (word for whole, parts in _words(text) for word in (*whole, *parts) if word not in _STOP_WORDS)


def said_once(words: list[str]) -> list[str]:
    """The words; each but once where they are the same few again and again: stuffing a description gains nothing."""
    distinct = dict.fromkeys(words)
    return list(distinct) if len(distinct) < _FEWEST_DISTINCT * len(words) else words


def fold(text: str) -> str:
    """Write accented letters without their accents and compatibility forms plainly; case stays."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare).translate(_LIGATURES)


def plain(word: str) -> str:
    """A word as it is compared with others: without accents, in small letters."""
    return fold(word).lower()


def squash(text: str) -> str:
    """The letters and digits only, in one case: equal for names that differ only in separators."""
    return "".join(char for char in fold(text).casefold() if char.isalnum())


def _words(text: str) -> Iterator[_Word]:
    for match in _WORD.finditer(fold(text)):
        word = match.group()
        if word.isascii():
            yield _identifier(word)
        elif _UNSPACED.search(word):
            yield (), _character_pairs(word)
        else:
            yield (_lower(word),), ()


def _identifier(word: str) -> _Word:
    """A plain word as it is; of a mixed one the parts, and the whole of short ones such as GitHub, oauth2 or k8s."""
    parts = [word] if word.islower() and word.isalpha() else _IDENTIFIER_PART.findall(word)
    whole = (_lower(word),) if len(parts) <= 2 or len(word) <= _SHORT_IDENTIFIER else ()
    return whole, tuple(_lower(part) for part in parts if len(part) > 1) if len(parts) > 1 else ()


def _character_pairs(word: str) -> tuple[str, ...]:
    pairs = [run[start : start + 2] for run in _UNSPACED.findall(word) for start in range(max(1, len(run) - 1))]
    return (*pairs, *(_lower(rest) for rest in _UNSPACED.split(word) if rest))


def _lower(word: str) -> str:
    return word.lower()[:MAX_TERM_CHARACTERS]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    if len(word) < 3 or not word.isascii():
        return word
    # A stemmer holds the word it works on, so each call has its own: searches may run in any thread.
    stemmed: str = Stemmer.Stemmer("english", 0).stemWord(word)
    return stemmed
