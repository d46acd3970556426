"""Names: server names made safe for the wire, and the known name nearest to a mistyped one."""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Iterable

from toolcrib.model.server import SERVER_NAME

_MAX_CHARACTERS = 64
# Two letters of a short name swapped are 0.67; names that only share some letters stay below.
_ALIKE_ENOUGH = 0.65
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def slug(name: str) -> str:
    """A name that fits the wire; one that already does is kept, and different long names stay different."""
    if SERVER_NAME.fullmatch(name) and _has_letter_or_digit(name):
        return name
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    safe = _UNSAFE.sub("-", plain).strip("-")
    if not _has_letter_or_digit(safe):
        return f"server-{_digest(name)}"
    return shorten(safe, name)


def shorten(safe: str, original: str) -> str:
    """Cut to the length allowed, ending in a hash of the original so that two long names do not meet."""
    if len(safe) <= _MAX_CHARACTERS:
        return safe
    digest = _digest(original)
    return f"{safe[: _MAX_CHARACTERS - len(digest) - 1]}-{digest}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one, whatever its case, or None when none is close."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=_ALIKE_ENOUGH)
    return by_folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A half sentence naming the nearest known name; empty when there is none."""
    close = nearest(name, known)
    return f"; did you mean '{close}'?" if close else ""


def _has_letter_or_digit(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
