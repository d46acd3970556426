"""The bundle as tables of tokens and plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

POOLS = ("toucan", "metatool", "sealtools", "bfcl", "apizoo", "azure_mcp", "stabletoolbench", "own")
SOURCES = ("intents", "extra", "metatool", "sealtools", "bfcl", "compound", "self")
TRAINED_PIECES = 128
MEASURED_PIECES = 160
# Which of server, name, description and parameters a document shows; a trained one does not always show all.
WHOLE, NO_SERVER, NO_PARAMETERS = (0, 1, 2, 3), (1, 2, 3), (0, 1, 2)
VARIANTS = (WHOLE, NO_SERVER, NO_PARAMETERS)


@dataclass(frozen=True)
class Rows:
    """Token rows of equal width, filled up with zeros, and how long each really is."""

    tokens: Array
    lengths: Array

    @classmethod
    def of(cls, rows: list[Array], width: int) -> Rows:
        tokens = np.zeros((len(rows), width), dtype=np.int16)
        lengths = np.array([min(len(row), width) for row in rows], dtype=np.int32)
        for row, own, length in zip(tokens, rows, lengths, strict=True):
            row[:length] = own[:length]
        return cls(tokens, lengths)


@dataclass(frozen=True)
class DevQueries:
    """A development set: rows of the query table, the tools that answer, and where its tools begin and end."""

    name: str
    rows: Array
    typo_rows: Array
    tools: Array
    first: int
    last: int


class Bundle:
    """Everything `prepare` wrote but the model."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "data.npz") as file:
            self.arrays = dict(file)
        self.vocabulary = bytes(self.arrays["vocabulary"]).decode().split("\n")
        self.tool_pool = self.arrays["tool_pool"]
        self.tool_is_trained = self.arrays["tool_is_trained"]
        self.tools = len(self.tool_pool)
        self.documents = (len(self.arrays["part_offsets"]) - 1) // 4

    def queries(self) -> Rows:
        flat, offsets = self.arrays["query_pieces"], self.arrays["query_offsets"]
        width = int(np.diff(offsets).max())
        return Rows.of([flat[first:last] for first, last in pairwise(offsets)], width)

    def document_rows(self, documents: Array, shown: tuple[int, ...], width: int) -> Rows:
        """Documents as the encoder reads them, showing only some of their parts."""
        return Rows.of([self._document(number, shown, width) for number in documents], width)

    def descriptions(self, tools: Array) -> Rows:
        """The descriptions alone, without marks."""
        return Rows.of([self.part(tool, 2) for tool in tools], TRAINED_PIECES)

    def part(self, number: int, part: int) -> Array:
        """Server, name, description or parameters of a document, without marks."""
        first, last = self.arrays["part_offsets"][4 * number + part : 4 * number + part + 2]
        return self.arrays["part_pieces"][first:last]

    def composed(self, parts: Sequence[Array], width: int) -> Array:
        """The four parts as the encoder reads them."""
        start, colon, bar, end = self.arrays["joints"]
        server, name, description, parameters = parts
        tail = [[bar], parameters] if len(parameters) else []
        body = np.concatenate([[start], server, name, [colon], description, *tail])
        return np.append(body[: width - 1], end)

    def dev_sets(self) -> list[DevQueries]:
        names = [key.removeprefix("dev_").removesuffix("_pool") for key in self.arrays if _names_dev_set(key)]
        return [self._dev_set(name) for name in names]

    def word_counts(self) -> Array:
        """How often each word piece occurs in the documents and queries."""
        pieces = np.concatenate([self.arrays["part_pieces"], self.arrays["query_pieces"]])
        return np.bincount(pieces, minlength=len(self.vocabulary)).astype(np.float64)

    def _dev_set(self, name: str) -> DevQueries:
        own = np.flatnonzero(self.tool_pool == self.arrays[f"dev_{name}_pool"])
        rows, typo_rows = self.arrays[f"dev_{name}_rows"], self.arrays[f"dev_{name}_typo_rows"]
        return DevQueries(name, rows, typo_rows, self.arrays[f"dev_{name}_tools"], int(own[0]), int(own[-1]) + 1)

    def _document(self, number: int, shown: tuple[int, ...], width: int) -> Array:
        nothing = self.arrays["part_pieces"][:0]
        return self.composed([self.part(number, part) if part in shown else nothing for part in range(4)], width)


def _names_dev_set(key: str) -> bool:
    return key.startswith("dev_") and key.endswith("_pool")
