"""Whether the text of a result says all that its structured content does; most servers send both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

_sorted = msgspec.json.Encoder(order="sorted").encode


def says_the_same(texts: Sequence[str], structured: bytes) -> bool:
    """Whether the texts are the structured content as JSON, or the one value that is wrapped in it."""
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
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
