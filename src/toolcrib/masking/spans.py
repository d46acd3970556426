"""Stretches of a text that must not be seen, and the text without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

MASK = "***"


class Span(NamedTuple):
    """From `start` up to `end`; `label` is what is shown instead."""

    start: int
    end: int
    label: str = MASK


def places(text: str, part: str) -> Iterable[int]:
    """Where a part of a text begins, each time; places may overlap."""
    # Asked for dozens of parts of every line: the answer for those that are not there must cost next to nothing.
    return _places(text, part) if part in text else ()


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def joined(spans: Iterable[Span]) -> Iterator[Span]:
    """The spans in order; those that overlap become one, so that no end of either is left over."""
    current: Span | None = None
    for span in sorted(spans):
        if current is None:
            current = span
        elif span.start < current.end:
            current = _wider(current, span)
        else:
            yield current
            current = span
    if current is not None:
        yield current


def covered(text: str, spans: Iterable[Span]) -> str:
    """The text with every span replaced by its label."""
    pieces: list[str] = []
    at = 0
    for span in joined(spans):
        pieces += (text[at : span.start], span.label)
        at = span.end
    return "".join((*pieces, text[at:]))


def _wider(first: Span, second: Span) -> Span:
    if second.end <= first.end:
        return first
    # Neither label alone says what is covered now, unless the second covers all of it.
    return second if second.start == first.start else Span(first.start, second.end)
