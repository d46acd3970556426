"""Whether the text of a result says all that its structured content does; most servers send both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from toolcrib.model.large_json import holds_more_values

# Both are decoded for it while everybody waits. So many values take a few hundredths of a second; a long text is only one.
MOST_COMPARED = 65_536

_sorted = msgspec.json.Encoder(order="sorted").encode


def says_the_same(texts: Sequence[str], structured: bytes) -> bool:
    """Whether the texts are the structured content as JSON, or the one value that is wrapped in it."""
    if holds_more_values(structured, MOST_COMPARED):
        return False
    try:
        value = json.loads(structured)
        told = (value, *value.values()) if isinstance(value, dict) and len(value) == 1 else (value,)
        written = [_sorted(reading) for reading in _readings(texts)]
        return any(_sorted(one) in written for one in told)
    except (ValueError, TypeError, RecursionError):
        return False


def _readings(texts: Sequence[str]) -> list[Any]:
    """What one text, or several, each an item of a list, can stand for."""
    if len(texts) == 1:
        return [texts[0], _value_or_text(texts[0]), [_value_or_text(texts[0])]]
    return [list(texts), [_value_or_text(text) for text in texts]] if texts else []


def _value_or_text(text: str) -> Any:
    try:
        return text if holds_more_values(text.encode(), MOST_COMPARED) else json.loads(text)
    except (ValueError, RecursionError):
        return text
