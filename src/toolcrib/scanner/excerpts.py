"""The few words around what was found, safe to print."""

from __future__ import annotations

import re

from toolcrib.model.clean_text import clean

MOST_CHARACTERS = 160
_AROUND = 50


def excerpt(words: str, found: re.Match[str]) -> str:
    start = max(0, found.start() - _AROUND)
    return shortened(words[start : found.end() + _AROUND])


def shortened(words: str) -> str:
    return clean(words[:MOST_CHARACTERS]).strip()
