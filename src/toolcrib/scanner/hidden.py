"""Characters that a person does not see, or that steer what shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolcrib.model.finding import Finding, Level
from toolcrib.model.hidden_characters import (
    BLANKS,
    DIRECTION_MARKS,
    FORMATTING,
    LINE_SEPARATORS,
    MISPLACED_JOINER,
    MISPLACED_SELECTOR,
    ODD_SELECTORS,
    PRIVATE_USE,
    SURROGATES,
    TAGS,
    ZERO_WIDTH,
)
from toolcrib.scanner.excerpts import excerpt
from toolcrib.scanner.texts import Text

_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,6}\U000e007f")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_TURNS = re.compile("[\u202a-\u202c\u2066-\u2069]")
_MARKS = re.compile(f"[{DIRECTION_MARKS}]")
# Joiners inside of words are proper in Persian or Hindi, but not between Latin letters.
_INSIDE_WORD = re.compile(f"(?<=[A-Za-z])[\u200c\u200d{ZERO_WIDTH}]+(?=[A-Za-z])")
_SPLIT_WORDS = 3
_MANY_MARKS = 8


@dataclass(frozen=True, slots=True)
class _Sign:
    rule: str
    level: Level
    why: str
    pattern: re.Pattern[str]


def _sign(rule: str, level: Level, characters: str, why: str) -> _Sign:
    return _Sign(rule, level, why, re.compile(characters))


_SIGNS = (
    _sign("hidden-text", "hard", f"[{TAGS}]", "has invisible tag characters, which can carry a message"),
    _sign(
        "hidden-text",
        "hard",
        "[\U000e0100-\U000e01ef]{2}|[\ufe00-\ufe0f]{3}",
        "has a run of invisible variation selectors, which can carry a message",
    ),
    _sign("hidden-text", "hard", "[\u202d\u202e]", "has characters that make text run backwards"),
    _sign(
        "hidden-text",
        "hard",
        f"[\u200b-\u200f\u2060-\u2064\ufeff\u180e{BLANKS}]{{6}}",
        "has a run of invisible characters, which can carry a message",
    ),
    _sign("control-code", "hard", "[\x1b\x9b\x9d\x90]", "has codes that steer a terminal"),
    _sign("control-code", "hard", "[\x08\x7f]|\r(?=[^\r\n])", "has characters that write over what stands before them"),
    _sign(
        "control-code",
        "soft",
        "[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x80-\x8f\x91-\x9a\x9c\x9e\x9f]",
        "has control characters",
    ),
    _sign("hidden-text", "soft", f"[{LINE_SEPARATORS}]", "has line separators that not every program shows"),
    _sign("hidden-text", "soft", "[\u034f\u180e\u200b\u2060-\u2065]|(?<=.)\ufeff", "has characters without width"),
    _sign("hidden-text", "soft", f"[{BLANKS}]", "has letters that look like nothing"),
    _sign("hidden-text", "soft", f"[{PRIVATE_USE}]", "has characters that every font shows differently"),
    _sign("hidden-text", "soft", f"[{SURROGATES}]", "has halves of characters"),
)


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Characters of which one is an accident and `enough` of them can carry a message, one here and one there."""

    why: str
    pattern: re.Pattern[str]
    enough: int


_CARRIERS = (
    # A selector that an emoji left behind when it was taken out stands alone, and says nothing.
    _Carrier(
        "has invisible variation selectors where there is nothing to select",
        re.compile(f"(?:(?<=[^\\W\\d_])[\ufe0e\ufe0f]|(?![\ufe0e\ufe0f])(?:{MISPLACED_SELECTOR}))"),
        3,
    ),
    _Carrier("has variation selectors that select nothing", re.compile(f"[{ODD_SELECTORS}]"), 3),
    _Carrier("has invisible joiners where there is nothing to join", re.compile(MISPLACED_JOINER), 6),
    _Carrier("has invisible codes for the layout of text", re.compile(f"[{FORMATTING}]"), 3),
)
_STRAY_SELECTOR = re.compile(MISPLACED_SELECTOR)
# Ideographs have a few forms each, but nobody needs many different selectors.
_SELECTOR = re.compile("[\U000e0100-\U000e01ef]")
_MOST_SELECTORS = 5


def hidden(text: Text) -> Iterator[Finding]:
    words = text.words
    if words.isascii() and words.isprintable():
        return
    words = _FLAG.sub("", words)
    for sign in _SIGNS:
        if found := sign.pattern.search(words):
            yield Finding(sign.rule, sign.level, text.where, sign.why, excerpt(words, found))
    yield from _carried(text.where, words)
    yield from _turned(text.where, words)
    yield from _split_words(text.where, words)


def _carried(where: str, words: str) -> Iterator[Finding]:
    for carrier in _CARRIERS:
        if found := list(carrier.pattern.finditer(words)):
            level: Level = "hard" if len(found) >= carrier.enough else "soft"
            yield Finding("hidden-text", level, where, carrier.why, excerpt(words, found[0]))
    if stray := _STRAY_SELECTOR.search(words):
        yield Finding(
            "hidden-text", "soft", where, "has an invisible variation selector on its own", excerpt(words, stray)
        )
    if len(set(_SELECTOR.findall(words))) >= _MOST_SELECTORS:
        yield Finding("hidden-text", "hard", where, "has many different variation selectors, which can carry a message")


def _turned(where: str, words: str) -> Iterator[Finding]:
    is_right_to_left = _RIGHT_TO_LEFT.search(words) is not None
    if found := _TURNS.search(words):
        level: Level = "soft" if is_right_to_left else "hard"
        yield Finding(
            "hidden-text", level, where, "has characters that turn the direction of text", excerpt(words, found)
        )
    if not is_right_to_left and (marks := list(_MARKS.finditer(words))):
        level = "hard" if len(marks) >= _MANY_MARKS else "soft"
        why = "has direction marks in text that has one direction"
        yield Finding("hidden-text", level, where, why, excerpt(words, marks[0]))


def _split_words(where: str, words: str) -> Iterator[Finding]:
    found = list(_INSIDE_WORD.finditer(words))
    if found:
        level: Level = "hard" if len(found) >= _SPLIT_WORDS else "soft"
        yield Finding("hidden-text", level, where, "has invisible characters inside of words", excerpt(words, found[0]))
