"""Words that want a tool to be found or chosen more often than it should be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from toolcrib.model.finding import Finding
from toolcrib.scanner.excerpts import excerpt
from toolcrib.scanner.reading_form import MOST_CHARACTERS, reading_forms
from toolcrib.scanner.texts import Text

_WORD = re.compile(r"[a-z][a-z'-]{2,}")
_COMMON = frozenset(
    "the and for with that this from are you your can use will not all any into using when which has have its one must should "
    "also been may than then other such more only these those they used each".split()
)
_FEWEST_WORDS = 40
_OFTEN, _SHARE, _VARIETY = 12, 0.15, 0.35
_KEY_WORDS, _KEY_WORD_SHARE = 40, 0.8
_PRESSURE = re.compile(
    r"\b(?:always|must|only) (?:use|call|choose|prefer|select|be (?:used|called))(?: \w{1,30}){0,3} (?:tool|this|it|instead|first)\b"
    r"|\bbetter than (?:all|any|every) other\b|\bdo not use (?:any )?other tools?\b"
    r"|\bthe only (?:correct|safe|trusted|official|approved) tool\b|\b(?:before|instead of) (?:using )?any other tool\b"
)


def attention(text: Text) -> Iterator[Finding]:
    if len(text.words) < _FEWEST_WORDS:
        return
    form = reading_forms(text.words)[0]
    if found := _PRESSURE.search(form):
        yield Finding("pressure", "soft", text.where, "presses the model to use it", excerpt(form, found))
    yield from _repeats(text.where, form)
    yield from _lists_key_words(text.where, text.words[:MOST_CHARACTERS])


def _repeats(where: str, form: str) -> Iterator[Finding]:
    words = [word for word in _WORD.findall(form) if word not in _COMMON]
    if len(words) < _FEWEST_WORDS:
        return
    often, times = Counter(words).most_common(1)[0]
    if times >= _OFTEN and times > _SHARE * len(words) and len(set(words)) < _VARIETY * len(words):
        yield Finding("stuffing", "soft", where, f"says the same word {times} times", often)


def _lists_key_words(where: str, words: str) -> Iterator[Finding]:
    parts = [part.split() for part in words.split(",")]
    short = sum(0 < len(part) <= 3 for part in parts)
    if short >= _KEY_WORDS and short > _KEY_WORD_SHARE * len(parts):
        yield Finding("stuffing", "soft", where, f"lists {short} key words", words[:80])
