"""Values that are left in running text even where their name says that they are secret: hiding them would spoil it.

A password "postgres" stands in the description of every tool of its server, and in the names of tools. A person who has
such a password has none to lose. What a machine made up is never everyday: no id, no run of letters in both cases.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z][a-z]{1,11}")
# English words have hardly ever four consonants in a row, letters by chance soon have.
_UNSPEAKABLE = re.compile(r"[b-df-hj-np-tv-xz]{4}")
# These have, and are what settings are about.
_WORDS_ALL_THE_SAME = frozenset({"postgres", "postgresql", "workspace", "upstream", "downstream"})
# A small number, a date, a version or an address of IPv4.
_NUMBER = re.compile(r"\d{1,6}|\d{4}-\d\d-\d\d|\d{1,3}(?:\.\d{1,5}){1,3}(?::\d{1,5})?")
_SCHEME = re.compile(r"https?:/(?=/\w)")
_PATH = re.compile(r"(?:~|\.{0,2}|[A-Za-z]:)(?:[/\\][\w .@+:-]*)+", re.ASCII)
_PIECE = re.compile(r"[A-Za-z0-9]+")
_PLAIN_PIECE = re.compile(r"([A-Za-z][a-z]{0,15})?\d{0,5}|[A-Z]{1,8}")
_SHORT = 4


def is_everyday(value: str) -> bool:
    """Whether a value is a word that reads as one, a small number, or a path of such words."""
    if _WORD.fullmatch(value):
        return _reads_as_a_word(value)
    if _NUMBER.fullmatch(value):
        return True
    path = _SCHEME.sub("", value)
    return _PATH.fullmatch(path) is not None and all(map(_is_plain, _PIECE.findall(path)))


def _is_plain(piece: str) -> bool:
    plain = _PLAIN_PIECE.fullmatch(piece)
    return plain is not None and (plain[1] is None or len(plain[1]) <= _SHORT or _reads_as_a_word(plain[1]))


def _reads_as_a_word(letters: str) -> bool:
    word = letters.lower()
    return word in _WORDS_ALL_THE_SAME or not _UNSPEAKABLE.search(word)
