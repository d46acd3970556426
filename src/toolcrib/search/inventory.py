"""Which tool stands behind which number of the index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    def _parse(self, number: int) -> Tool:
        start = int(self._ends[number - 1]) if number else 0
        server, name, definition = json.loads(self._text[start : int(self._ends[number])].tobytes())
        return Tool(server, name, definition)


def stored_arrays(tools: Sequence[Tool]) -> dict[str, Array]:
    """The arrays of an `Inventory` of these tools, numbered in their order."""
    texts = list(_texts(tools))
    return {
        "tools.ends": np.cumsum([len(text) for text in texts], dtype=np.uint64),
        "tools.text": np.frombuffer(b"".join(texts), dtype=np.uint8),
    }


def _texts(tools: Iterable[Tool]) -> Iterator[bytes]:
    for tool in tools:
        yield json.dumps((tool.server, tool.name, tool.definition), separators=(",", ":")).encode()
