"""Why a tool was found: which words of the query it shares, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolcrib.search.document import (
    DESCRIPTION,
    NAME,
    PARAMETER_NAMES,
    PARAMETER_TEXTS,
    SERVER,
    TAGS,
    TITLE,
    Document,
    Field,
)
from toolcrib.search.query import Query

_LABELS = (
    (NAME, "name"),
    (TITLE, "title"),
    (SERVER, "server"),
    (DESCRIPTION, "description"),
    (PARAMETER_NAMES, "parameters"),
    (PARAMETER_TEXTS, "parameter descriptions"),
    (TAGS, "tags"),
)


@dataclass(frozen=True, slots=True)
class WordMatch:
    """One word as it was typed, and the fields that hold it; `is_kin` when they hold another word for the same act."""

    word: str
    fields: tuple[str, ...]
    is_kin: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """`is_named` when the query is the tool's name in full or holds it as an identifier; words without meaning of their own are left out.

    `closeness` is how near the meanings of query and tool are (1 is the same), None where that is not known yet;
    `spelled` is the query as it was understood, where words were put right.
    """

    is_named: bool
    words: tuple[WordMatch, ...]
    closeness: float | None = None
    spelled: str = ""


def explain_words(text: str, document: Document, is_known: Callable[[str], bool]) -> tuple[WordMatch, ...]:
    """Every word of the query in order, each once."""
    matches = []
    for word in dict.fromkeys(text.split()):
        query = Query.parse(word, is_known)
        if not query.own:
            continue
        own = _holding(document, query.own)
        kin = () if own else _holding(document, query.kin)
        matches.append(WordMatch(word, own or kin, is_kin=bool(kin)))
    return tuple(matches)


def _holding(document: Document, terms: Iterable[str]) -> tuple[str, ...]:
    wanted = set(terms)
    return tuple(_label(kind) for kind, words in document if wanted.intersection(words))


def _label(kind: Field) -> str:
    return next((label for field, label in _LABELS if field is kind), "text")
