"""Which tool stands behind which number of the index."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from toolcrib.model.tool import Tool
from toolcrib.search.arrays_file import Array

_PARSED_TOOLS = 512


class Inventory:
    """Tools by number; those of a stored index are read from its file when someone looks at them."""

    def __init__(self, stored: Mapping[str, Array] | None = None) -> None:
        arrays = stored or stored_arrays([])
        self._ends, self._text = arrays["tools.ends"], arrays["tools.text"]
        self._first = len(self._ends)
        self._grown: dict[int, Tool] = {}
        self._parsed = lru_cache(maxsize=_PARSED_TOOLS)(self._parse)

    def __getitem__(self, number: int) -> Tool:
        return self._parsed(number) if number < self._first else self._grown[number]

    def add(self, number: int, tool: Tool) -> None:
        self._grown[number] = tool

    def remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._grown.pop(number, None)

    def snapshot(self, numbers: Iterable[int]) -> Callable[[], Iterator[bytes]]:
        """The texts of some tools as they are now, to be gone through in any thread; a stored one is copied, not read."""
        grown = dict(self._grown)
        return lambda: (_text(grown[number]) if number >= self._first else self._stored(number) for number in numbers)

    def _parse(self, number: int) -> Tool:
        return Tool(*json.loads(self._stored(number)))

    def _stored(self, number: int) -> bytes:
        start = int(self._ends[number - 1]) if number else 0
        return self._text[start : int(self._ends[number])].tobytes()


def stored_arrays(written: Iterable[bytes]) -> dict[str, Array]:
    """The arrays of an `Inventory` of tools with these texts, numbered in their order."""
    texts = list(written)
    return {
        "tools.ends": np.cumsum([len(text) for text in texts], dtype=np.uint64),
        "tools.text": np.frombuffer(b"".join(texts), dtype=np.uint8),
    }


def _text(tool: Tool) -> bytes:
    kind = () if tool.kind == "tool" else (tool.kind,)
    return json.dumps((tool.server, tool.name, tool.definition, *kind), separators=(",", ":")).encode()
