"""The one way to text that may be shown, logged or stored: known secrets go by value, the rest by shape and name."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from toolcrib.masking.everyday import is_everyday
from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.shapes import is_ordinary
from toolcrib.masking.texts import mask_text
from toolcrib.model.clean_text import cleaned

if TYPE_CHECKING:
    # The process that speaks libp2p covers its log as well, and may run where nothing but libp2p is installed.
    import msgspec

    Json = bytes | msgspec.Raw

E = TypeVar("E", bound=BaseException)

# Where errors of ours, of the protocol and of the system keep their words.
_TEXTS_OF_ERRORS = ("message", "hint", "details", "data", "reason", "strerror", "filename")


class Masker:
    """Covers secrets in what a server says; without known ones, only what looks like one."""

    def __init__(self, known: KnownSecrets | None = None, unnamed: Collection[str] = ()) -> None:
        self._given = known or KnownSecrets()
        # What is hunted for in what a server says of itself, and in all that this process prints: of the values whose name
        # says nothing (`unnamed`) not what anybody could have, and of the others no everyday word.
        self._hunted = self._given.only(lambda value: not (is_ordinary if value in unnamed else is_everyday)(value))
        self.also(KnownSecrets())

    def also(self, others: KnownSecrets) -> None:
        """Cover these too, in place of those that were added before: what changes, such as tokens, is told again."""
        self.known = self._given.and_also(others)
        self.telling = self._hunted.and_also(others.only(lambda value: not is_everyday(value)))

    def __call__(self, text: str) -> str:
        """The text as it may be shown."""
        return mask_text(self.known.masked(text))

    def value(self, value: Any) -> Any:
        """The same for every text in a value made of maps and lists, and for numbers that are secrets."""
        return in_value(value, self, self.known)

    def json(self, raw: Json) -> Json:
        """What a server says of itself, as JSON: only known secrets are covered, and text without any is given back."""
        if not self.telling.are_in(bytes(raw)):
            return raw
        try:
            covered = in_value(json.loads(bytes(raw)), self.telling.masked, self.telling)
            return json.dumps(covered, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            # Neither half a character nor a number beyond all bounds can be written down again.
            return self.telling.masked(bytes(raw).decode("utf-8", "replace")).encode()

    def error(self, error: E) -> E:
        """The error with every text in it covered, and without anything in it that hides or steers."""
        error.args = cleaned(self.value(error.args))
        for name in _TEXTS_OF_ERRORS:
            if found := getattr(error, name, None):
                setattr(error, name, cleaned(self.value(found)))
        return error


def in_value(value: Any, mask: Callable[[str], str], known: KnownSecrets) -> Any:
    """A value made of maps and lists, with every text in it masked, and every number that is a known secret."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, int | float):
        return known.number(value)
    if isinstance(value, Mapping):
        return {in_value(key, mask, known): in_value(item, mask, known) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(in_value(item, mask, known) for item in value)
    return value
