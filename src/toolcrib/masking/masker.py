"""The one way to text that may be shown, logged or stored: known secrets go by value, the rest by shape and name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.shapes import is_ordinary
from toolcrib.masking.texts import mask_text

Json = bytes | msgspec.Raw
E = TypeVar("E", bound=BaseException)

# Where errors of ours, of the protocol and of the system keep their words.
_TEXTS_OF_ERRORS = ("message", "hint", "details", "data", "reason", "strerror", "filename")


class Masker:
    """Covers secrets in what a server says; without known ones, only what looks like one."""

    def __init__(self, known: KnownSecrets | None = None) -> None:
        self._given = known or KnownSecrets()
        self.also(KnownSecrets())

    def also(self, others: KnownSecrets) -> None:
        """Cover these too, in place of those that were added before: what changes, such as tokens, is told again."""
        self.known = self._given.and_also(others)
        # A password that is an everyday word is not hunted for in what a server says of itself.
        self.telling = self.known.only(lambda value: not is_ordinary(value))

    def __call__(self, text: str) -> str:
        """The text as it may be shown."""
        return mask_text(self.known.masked(text))

    def value(self, value: Any) -> Any:
        """The same for every text in a value made of maps and lists."""
        return _each_text(value, self)

    def json(self, raw: Json) -> Json:
        """What a server says of itself, as JSON: only known secrets are covered, and text without any is given back."""
        if not self.telling.are_in(bytes(raw)):
            return raw
        try:
            return msgspec.json.encode(_each_text(msgspec.json.decode(raw), self.telling.masked))
        except (msgspec.DecodeError, RecursionError):
            return self.telling.masked(bytes(raw).decode("utf-8", "replace")).encode()

    def error(self, error: E) -> E:
        """The error with every text in it covered."""
        error.args = self.value(error.args)
        for name in _TEXTS_OF_ERRORS:
            if found := getattr(error, name, None):
                setattr(error, name, self.value(found))
        return error


def _each_text(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {_each_text(key, mask): _each_text(item, mask) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_each_text(item, mask) for item in value)
    return value
