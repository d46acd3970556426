"""Find tools by the name someone typed, whatever the separators, the accents and the case."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np

from toolcrib.model.query import MAX_QUERY_CHARACTERS
from toolcrib.model.tool import Tool
from toolcrib.search.arrays_file import Array
from toolcrib.search.terms import squash
from toolcrib.search.text_key import text_key

_TOKEN = re.compile(r"\w+(?:[.:-]\w+)*")
# `create_issue`, `createIssue`, `get-library-docs`, `brave:search`.
_IDENTIFIER = re.compile(r"\w_\w|[a-z][A-Z]|-.+-|\w:\w")
_IN_PARTS = re.compile(r"[\W_]|[a-z][A-Z]")
_MOST_NAMES = 16
NO_NAMES = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint32)


def possible_names(text: str) -> list[str]:
    """What in a longer text looks like the name of a tool and like no word."""
    tokens = dict.fromkeys(_TOKEN.findall(text))
    return list(islice(filter(_IDENTIFIER.search, tokens), _MOST_NAMES))


def is_in_parts(name: str) -> bool:
    """Whether a name is made of several words: others are names of products too (`ebay`)."""
    return _IN_PARTS.search(name) is not None


class ExactNames:
    """Numbers of tools by their name and by `server:tool`; of a stored index, also numbers that are gone by now."""

    def __init__(self, stored: Mapping[str, Array] | None = None) -> None:
        arrays = stored or stored_arrays(*NO_NAMES)
        self._stored_keys, self._stored_numbers = arrays["names.keys"], arrays["names.numbers"]
        self._numbers: dict[str, list[int]] = {}

    def add(self, number: int, tool: Tool) -> None:
        for key in _tool_keys(tool):
            self._numbers.setdefault(key, []).append(number)

    def remove(self, number: int, tool: Tool) -> None:
        """Forget a tool that was added under this number."""
        for key in _tool_keys(tool):
            own = self._numbers.get(key, [])
            if number in own:
                own.remove(number)
            if not own:
                self._numbers.pop(key, None)

    def find(self, text: str) -> list[int]:
        """The tools that `text` names in full."""
        keys = sorted({_key(text), text.strip()})
        return [number for key in keys for number in (*self._stored(key), *self._numbers.get(key, ()))]

    def snapshot(self) -> Callable[[], tuple[Array, Array]]:
        """The digests of all names and the numbers that bear them as they are now, to be put together in any thread."""
        stored_keys, stored_numbers = self._stored_keys, self._stored_numbers
        added = [(key, number) for key, own in self._numbers.items() for number in own]

        def names() -> tuple[Array, Array]:
            keys = np.array([text_key(key) for key, _ in added], dtype=np.uint64)
            numbers = np.array([number for _, number in added], dtype=np.int64)
            return np.concatenate([stored_keys, keys]), np.concatenate([stored_numbers, numbers])

        return names

    def _stored(self, key: str) -> Sequence[int]:
        digest = np.uint64(text_key(key))
        first, last = (
            np.searchsorted(self._stored_keys, digest, "left"),
            np.searchsorted(self._stored_keys, digest, "right"),
        )
        return [int(number) for number in self._stored_numbers[first:last]]


def stored_arrays(digests: Array, numbers: Array) -> dict[str, Array]:
    """The arrays of names: their digests, each with the number of a tool that bears it."""
    order = np.lexsort((numbers, digests))
    return {"names.keys": digests[order].astype(np.uint64), "names.numbers": numbers[order].astype(np.uint32)}


def closeness(tool: Tool, text: str) -> int:
    """How literally `text` names the tool, 0 being the closest, among those that `find` gave for it."""
    typed = text.strip()
    if typed == tool.id.strip():
        return 0
    if typed == tool.name.strip():
        return 1
    return 2 if _key(typed) == _key(tool.name) else 3


def _tool_keys(tool: Tool) -> set[str]:
    name = _key(tool.name)
    if not name:
        return set()
    # A name without letters or digits would leave only the server's in the key: such a tool is known by its literal id.
    full = _key(tool.id) if squash(tool.name) else tool.id.strip()
    return {name, full}


def _key(text: str) -> str:
    cut = text[:MAX_QUERY_CHARACTERS]
    return squash(cut) or cut.strip()
