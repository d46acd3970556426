"""The `{{server.key|filter}}` templates of Docker's catalogs, filled from the user's settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.clients.dialects import Ours, dialect, hidden, literal
from toolcrib.clients.sections import list_of

_TEMPLATE = r"\{\{\s*([^{}|]+?)\s*((?:\|[^{}]*)?)\}\}"


class Templates:
    """Fills templates; one without a value becomes a need that names it, never an empty text."""

    def __init__(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        self._settings = settings

    def filled(self, text: Any) -> Ours:
        """The text with its templates replaced, in our own form."""
        if not isinstance(text, str):
            return Ours(_plain(text))
        return Ours(dialect(_TEMPLATE, self._as_text)(text))

    def filled_list(self, texts: Any) -> list[Ours]:
        """The texts filled; one that is a template for a list becomes as many texts as the list has."""
        return [filled for text in list_of(texts) for filled in self._one_or_many(text)]

    def _one_or_many(self, text: Any) -> Iterator[Ours]:
        match = re.fullmatch(_TEMPLATE, text) if isinstance(text, str) else None
        value = self._value(match) if match else None
        if match and isinstance(value, list):
            for item in value:
                yield Ours(literal(_filtered(_plain(item), match[2])))
        elif filled := self.filled(text):
            yield filled

    def _as_text(self, match: re.Match[str]) -> str:
        value = self._value(match)
        if value is None:
            return f"${{config:{match[1]}}}"
        if isinstance(value, list):
            return hidden(",".join(_filtered(_plain(item), match[2]) for item in value))
        return hidden(_filtered(_plain(value), match[2]))

    def _value(self, match: re.Match[str]) -> Any:
        value: Any = self._settings
        for part in match[1].split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return _default(match[2]) if value is None else value


def _default(filters: str) -> Any:
    found = re.search(r"\|or:([^|]*)", filters)
    if not found:
        return None
    try:
        return json.loads(found[1])
    except ValueError:
        return found[1]


def _filtered(text: str, filters: str) -> str:
    is_path = "volume" in (part.strip() for part in filters.split("|"))
    return f"{text}:{text}" if is_path and ":" not in text else text


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
