"""Server entries as they may be shown: of what a person wrote there, everything that may be a secret is covered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolcrib.masking.addresses import address_spans, named_in_addresses
from toolcrib.masking.names import is_secret_name
from toolcrib.masking.shapes import is_hash, is_opaque
from toolcrib.masking.spans import MASK, Span, covered
from toolcrib.masking.texts import stands_for_a_value, text_spans

# Of these maps only the names are shown: what a server is given there is for it alone.
_VALUE_MAPS = frozenset(
    "env envs environment environmentvariables headers http_headers httpheaders requestheaders".split()
)
_ASSIGNED = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*)=([\s\S]+)")
_HEADER = re.compile(r"([A-Za-z][\w-]*):\s*(?!//)([\s\S]+)")
_NAMES_A_HASH = re.compile(r"-{1,2}(?:ref|rev|revision|commit|sha|sha256|digest|checksum|hash)")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)


def masked_entry(value: Any, key: str = "") -> Any:
    """A part of an entry, found under `key`, without its secrets."""
    is_given = key.lower() in _VALUE_MAPS
    if is_secret_name(key):
        return _hidden(value)
    if isinstance(value, Mapping):
        return {name: _hidden(item) if is_given else masked_entry(item, str(name)) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_hidden_assignment(item) for item in value] if is_given else masked_words(value)
    return _masked_word(value)


def masked_words(words: Sequence[Any]) -> list[Any]:
    """The words of a command line; what follows an option with a telling name is a secret."""
    before = ["", *(str(word) for word in words)]
    return [_masked_word(word, previous) for word, previous in zip(words, before, strict=False)]


def secret_words(words: Sequence[str]) -> Iterator[str]:
    """The parts of these words that `masked_words` covers."""
    for word, previous in zip(words, ["", *words], strict=False):
        yield from (word[span.start : span.end] for span in word_spans(word, previous))


def named_words(words: Sequence[str]) -> Iterator[str]:
    """Of these parts those that are secret by a name or a place, whatever they look like."""
    for word, previous in zip(words, ["", *words], strict=False):
        if not stands_for_a_value(word):
            yield from (word[span.start : span.end] for span in _named_spans(word, previous))


def masked_address(address: str) -> str:
    """An address without the person, the keys and the query in it."""
    return covered(address, word_spans(address))


def word_spans(word: str, previous: str = "") -> Iterator[Span]:
    """Every place in a word of an entry that may be a secret; `previous` is the word before it on the command line."""
    if stands_for_a_value(word):
        return
    yield from _named_spans(word, previous)
    yield from address_spans(word)
    yield from _assigned(word, lambda _, value: is_opaque(value))
    if is_opaque(word) and not (is_hash(word) and _NAMES_A_HASH.fullmatch(previous)):
        yield Span(0, len(word))


def _named_spans(word: str, previous: str) -> Iterator[Span]:
    """Places whose value is secret because a name before it says so, or since it stands where one signs in."""
    if _asks_for_a_secret(previous):
        yield Span(0, len(word))
    yield from text_spans(word)
    yield from named_in_addresses(word)
    yield from _assigned(word, lambda name, _: is_secret_name(name))


def _assigned(word: str, is_secret: Callable[[str, str], bool]) -> Iterator[Span]:
    """The value of a word that is `NAME=value` or `Name: value`, where it is secret."""
    for pattern in (_ASSIGNED, _HEADER):
        named = pattern.fullmatch(word)
        if named and not stands_for_a_value(named[2]) and is_secret(named[1], named[2]):
            yield Span(after_scheme(named[2]) + named.start(2), len(word))


def after_scheme(text: str) -> int:
    """Where the secret begins in `Bearer …`."""
    scheme = _SCHEME.match(text)
    return scheme.end() if scheme else 0


def _masked_word(word: Any, previous: str = "") -> Any:
    if isinstance(word, str):
        return covered(word, word_spans(word, previous))
    if isinstance(word, Mapping | list | tuple):
        return masked_entry(word)
    return _hidden(word) if _asks_for_a_secret(previous) else word


def _asks_for_a_secret(option: str) -> bool:
    return option.startswith("-") and "=" not in option and is_secret_name(option)


def _hidden(value: Any) -> Any:
    """The value under a telling name: covered, unless it only refers to one."""
    if isinstance(value, Mapping):
        return {name: _hidden(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(item) for item in value]
    if isinstance(value, bool) or value is None or value == "":
        return value
    text = str(value)
    start = after_scheme(text)
    return text if stands_for_a_value(text[start:]) else text[:start] + MASK


def _hidden_assignment(item: Any) -> Any:
    """One of several `NAME=value`, as some clients list variables."""
    named = _ASSIGNED.fullmatch(item) if isinstance(item, str) else None
    return f"{named[1]}={_hidden(named[2])}" if named else _hidden(item)
