"""What in a definition may change because it tells nobody anything: no sentence, no name and no address that is new."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

# A name or a title of so many words that are known already is no sentence.
MOST_JOINED_WORDS = 4
MOST_NAME_CHARACTERS = 100
MOST_ICON_CHARACTERS = 40
MOST_ADDRESS_CHARACTERS = 300

# What schemas are written in, and what SDKs call the result of a tool.
_OF_SCHEMAS = frozenset(
    """
    type object string number integer boolean array null properties required items prefix title description enum const
    default examples format any of one all additional pattern unique minimum maximum exclusive min max length contains
    ref defs definitions schema json https http org draft date time uri email uuid byte binary nullable
    result output response x fastmcp wrap
    """.split()
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_DATE = re.compile(r"[\dTZ:.+ -]{1,40}")
_ICON_MEMBERS = frozenset({"src", "mimeType", "sizes", "theme"})


def new_words(before: Mapping[str, Any], now: Any, known_texts: Collection[str] = ()) -> bool:
    """Whether a part of a definition says or names anything in words that the definition did not have before."""
    texts = {*_strings(before.get("outputSchema")), *known_texts}
    words = _OF_SCHEMAS.union(word for text in _strings(before) for word in _words(text))
    return any(text not in texts and not _is_known(text, words) for text in _strings(now))


def at_home(before: Any, now: Any) -> bool:
    """Whether icons are part of the definition, or where icons of it were before."""
    return before == now or _homes(now) <= _homes(before) | {"data"}


def is_number_or_date(name: str, value: Any) -> bool:
    """Whether this tells how large, how new or how important something is."""
    if name == "lastModified":
        return isinstance(value, str) and _DATE.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_known(text: str, words: frozenset[str]) -> bool:
    found = _words(text)
    return len(text) <= MOST_NAME_CHARACTERS and len(found) <= MOST_JOINED_WORDS and words >= set(found)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _strings(value: Any) -> Iterator[str]:
    """Every text and name in a value, however deep."""
    if isinstance(value, Mapping):
        yield from map(str, value)
    if isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value


def _homes(icons: Any) -> set[str]:
    """Where icons come from; what is no plain icon has a home that nothing else has."""
    if icons is None:
        return set()
    if not isinstance(icons, list | tuple):
        return {repr(icons)}
    return {_home(icon) for icon in icons}


def _home(icon: Any) -> str:
    src = icon.get("src") if isinstance(icon, Mapping) else None
    if not isinstance(src, str) or any(map(str.isspace, src)) or not _is_plain(icon):
        return repr(icon)
    if src.startswith("data:image/"):
        return "data"
    try:
        parts = urlsplit(src)
    except ValueError:
        return src
    is_address = parts.scheme in {"http", "https"} and not parts.query and len(src) <= MOST_ADDRESS_CHARACTERS
    return f"{parts.scheme}://{parts.netloc}" if is_address and parts.netloc else src


def _is_plain(icon: Mapping[str, Any]) -> bool:
    others = (item for name, item in icon.items() if name != "src")
    texts = (text for item in others for text in _strings(item))
    return icon.keys() <= _ICON_MEMBERS and all(
        len(text) <= MOST_ICON_CHARACTERS and not any(map(str.isspace, text)) for text in texts
    )
