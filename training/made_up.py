"""Queries that nobody asked and tools that nobody offers: only the teacher's vectors say where they belong.

A student that copies its teacher on many more texts than there are labels for stays close to it on servers that
neither has seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.bundle import SOURCES, TRAINED_PIECES, Bundle, Rows
from training.model import TextEncoder, encode_all
from training.packing import TokenTable

Array = NDArray[Any]

SPAN_PIECES = (4, 28)
# Of the queries so many are spans of descriptions, the rest two real queries run together.
SPAN_SHARE = 0.75
# How often a part of a made-up tool comes from another tool, and how often only the end of the description is kept.
FOREIGN_SHARE = 0.3
CUT_SHARE = 0.4
# Sources before this one are queries that someone asked.
_COMPOUND = SOURCES.index("compound")


class MadeUp(ABC):
    """Texts of one kind in a table, with what the teacher makes of them; a kind says how they are made."""

    def __init__(self, bundle: Bundle, size: int, seed: int, device: torch.device) -> None:
        self.bundle, self.size = bundle, size
        self.chance = np.random.default_rng(seed)
        self.trained = np.flatnonzero(bundle.tool_is_trained)
        self._starts_word = np.array([not piece.startswith("##") for piece in bundle.vocabulary])
        self._device = device
        self.table: TokenTable
        self.taught: torch.Tensor

    def refresh(self, teacher: TextEncoder) -> None:
        """Make other ones and ask the teacher about them."""
        self.table = TokenTable(Rows.of(self.rows(), TRAINED_PIECES), self._device)
        self.taught = encode_all(teacher, self.table)

    def draw(self, size: int) -> NDArray[np.int64]:
        return self.chance.integers(self.size, size=size)

    def from_word(self, pieces: Array) -> Array:
        """The pieces from the first beginning of a word on."""
        whole = np.flatnonzero(self._starts_word[pieces])
        return pieces[whole[0] :] if len(whole) else pieces

    @abstractmethod
    def rows(self) -> list[Array]:
        """As many texts as the table holds, as the encoder reads them."""


class MadeUpQueries(MadeUp):
    """Spans of descriptions, and two queries as one."""

    def __init__(self, bundle: Bundle, size: int, seed: int, device: torch.device) -> None:
        super().__init__(bundle, size, seed, device)
        self._descriptions = bundle.descriptions(self.trained)
        self._long_enough = np.flatnonzero(self._descriptions.lengths >= SPAN_PIECES[0])
        self._queries = bundle.queries()
        self._asked = bundle.arrays["item_row"][bundle.arrays["item_source"] < _COMPOUND]

    def rows(self) -> list[Array]:
        spans = round(SPAN_SHARE * self.size)
        start, end = self.bundle.arrays["joints"][[0, 3]]
        bodies = [*self._spans(spans), *self._pairs(self.size - spans)]
        return [np.concatenate([[start], body[: TRAINED_PIECES - 2], [end]]) for body in bodies]

    def _spans(self, count: int) -> list[Array]:
        """Runs of a description's pieces that begin with a whole word."""
        tools = self.chance.choice(self._long_enough, size=count)
        wanted = self.chance.integers(SPAN_PIECES[0], SPAN_PIECES[1] + 1, size=count)
        room = np.maximum(self._descriptions.lengths[tools] - wanted, 0)
        starts = (self.chance.random(count) * (room + 1)).astype(np.int64)
        bodies = []
        for tool, start, length in zip(tools, starts, wanted, strict=True):
            body = self._descriptions.tokens[tool, start : min(start + length, self._descriptions.lengths[tool])]
            bodies.append(self.from_word(body))
        return bodies

    def _pairs(self, count: int) -> list[Array]:
        rows = self.chance.choice(self._asked, size=(count, 2))
        return [np.concatenate([self._body(first), self._body(second)]) for first, second in rows]

    def _body(self, row: int) -> Array:
        return self._queries.tokens[row, 1 : self._queries.lengths[row] - 1]


class MadeUpTools(MadeUp):
    """Tools with some parts of another tool, or with a piece of their description."""

    def rows(self) -> list[Array]:
        tools = self.chance.choice(self.trained, size=(self.size, 2))
        foreign = (self.chance.random((self.size, 4)) < FOREIGN_SHARE).astype(np.int64)
        cut = np.where(self.chance.random(self.size) < CUT_SHARE, self.chance.random(self.size), 0.0)
        return [self._mixed(pair[own], share) for pair, own, share in zip(tools, foreign, cut, strict=True)]

    def _mixed(self, tools: Array, cut: float) -> Array:
        server, name, description, parameters = (self.bundle.part(tool, part) for part, tool in enumerate(tools))
        description = self.from_word(description[int(cut * len(description)) :])
        return self.bundle.composed((server, name, description, parameters), TRAINED_PIECES)
