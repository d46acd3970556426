"""Batches as row numbers: chosen here by numpy in one go, looked up on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.bundle import POOLS, SOURCES, VARIANTS, Bundle

Array = NDArray[Any]

# How much of a batch comes from where.
MIX = {
    "intents": 0.44,
    "extra": 0.10,
    "compound": 0.14,
    "self": 0.12,
    "metatool": 0.09,
    "sealtools": 0.07,
    "bfcl": 0.04,
}
TYPO_SHARE = 0.25
# Of the documents, this share shows no server or no parameters.
PARTIAL_SHARE = 0.3
MINED, SIBLINGS = 2, 1


@dataclass(frozen=True)
class Batch:
    """Items with their query rows; documents as columns, first each item's own, then the negatives."""

    items: Array
    query_rows: Array
    clean_rows: Array
    positive_tools: Array
    answers: Array
    column_tools: Array
    column_rows: Array


class Sampler:
    """Draws batches; `negatives` holds hard ones for each item and is replaced as the model learns."""

    def __init__(self, bundle: Bundle, seed: int) -> None:
        arrays = bundle.arrays
        self._chance = np.random.default_rng(seed)
        self._rows, self._typo_rows = arrays["item_row"], arrays["item_typo_rows"]
        self.tools, self.documents = arrays["item_tools"], arrays["item_document"]
        self.negatives = arrays["item_negatives"]
        self._by_source = [np.flatnonzero(arrays["item_source"] == number) for number in range(len(SOURCES))]
        self._shares = _shares(self._by_source)
        self._pool = bundle.tool_pool
        self._trained_by_pool = [
            np.flatnonzero(bundle.tool_is_trained & (self._pool == pool)) for pool in range(len(POOLS))
        ]
        self._siblings = _Groups(arrays["tool_group"], bundle.tool_is_trained)
        self._same_verb = _Groups(arrays["tool_verb"], bundle.tool_is_trained)
        self._first_special = bundle.tools
        self.items = len(self._rows)

    def draw(self, size: int, *, mined: int = MINED, siblings: int = SIBLINGS) -> Batch:
        """A batch with `mined` hard negatives an item, then `siblings` of its server."""
        items = self._items(size)
        answers = self.tools[items]
        positives = self._positives(items, answers)
        own_rows = np.where(self.documents[items] >= 0, self._special_rows(items), self._tool_rows(positives))
        columns, rows = [positives], [own_rows]
        columns += [self._mined(items, positives) for _ in range(mined)]
        columns += [self._beside(positives) for _ in range(siblings)]
        rows += [self._tool_rows(column) for column in columns[1:]]
        return Batch(
            items, self._query_rows(items), self._rows[items], positives, answers,
            np.concatenate(columns), np.concatenate(rows),
        )  # fmt: skip

    def _items(self, size: int) -> Array:
        sources = self._chance.choice(len(SOURCES), size=size, p=self._shares)
        items = np.empty(size, dtype=np.int64)
        for number, own in enumerate(self._by_source):
            places = np.flatnonzero(sources == number)
            if len(places):
                items[places] = self._chance.choice(own, size=len(places), replace=len(places) > len(own))
        return items

    def _positives(self, items: Array, answers: Array) -> Array:
        """One of the tools that answer; the first where only a part of that very tool is to be found."""
        counts = (answers >= 0).sum(axis=1)
        picked = (self._chance.random(len(items)) * counts).astype(np.int64)
        picked[self.documents[items] >= 0] = 0
        return answers[np.arange(len(items)), picked]

    def _query_rows(self, items: Array) -> Array:
        variants = self._typo_rows[items, self._chance.integers(self._typo_rows.shape[1], size=len(items))]
        return np.where(self._chance.random(len(items)) < TYPO_SHARE, variants, self._rows[items])

    def _tool_rows(self, tools: Array) -> Array:
        """Rows in the document table: one block a variant, then the special documents."""
        variant = self._chance.integers(1, len(VARIANTS), size=len(tools))
        variant[self._chance.random(len(tools)) >= PARTIAL_SHARE] = 0
        return variant * self._first_special + tools

    def _special_rows(self, items: Array) -> Array:
        return self.documents[items] + (len(VARIANTS) - 1) * self._first_special

    def _mined(self, items: Array, positives: Array) -> Array:
        candidates = self.negatives[items]
        counts = (candidates >= 0).sum(axis=1)
        picked = (self._chance.random(len(items)) * counts).astype(np.int64)
        found = candidates[np.arange(len(items)), picked]
        return np.where(found >= 0, found, self._beside(positives))

    def _beside(self, tools: Array) -> Array:
        """A tool of the same server, else one with the same verb, else any of the pool."""
        found = self._siblings.other(tools, self._chance)
        found = np.where(found >= 0, found, self._same_verb.other(tools, self._chance))
        anyone = np.empty_like(tools)
        for pool, own in enumerate(self._trained_by_pool):
            places = np.flatnonzero(self._pool[tools] == pool)
            if len(places):
                anyone[places] = self._chance.choice(own, size=len(places))
        return np.where(found >= 0, found, anyone)


class _Groups:
    """Tools by group, laid out so that another member is one random number away."""

    def __init__(self, group: Array, is_trained: Array) -> None:
        members = np.flatnonzero(is_trained & (group >= 0))
        self._order = members[np.argsort(group[members], kind="stable")]
        sorted_groups = group[self._order]
        size = len(group)
        self._first = np.zeros(size, dtype=np.int64)
        self._count = np.zeros(size, dtype=np.int64)
        self._place = np.zeros(size, dtype=np.int64)
        self._first[self._order] = np.searchsorted(sorted_groups, sorted_groups, side="left")
        self._count[self._order] = (
            np.searchsorted(sorted_groups, sorted_groups, side="right") - self._first[self._order]
        )
        self._place[self._order] = np.arange(len(self._order))

    def other(self, tools: Array, chance: np.random.Generator) -> Array:
        """For each tool another of its group, -1 where it is alone."""
        counts = self._count[tools]
        step = 1 + (chance.random(len(tools)) * np.maximum(counts - 1, 0)).astype(np.int64)
        offset = self._place[tools] - self._first[tools]
        places = self._first[tools] + (offset + step) % np.maximum(counts, 1)
        return np.where(counts > 1, self._order[np.minimum(places, len(self._order) - 1)], -1)


def _shares(by_source: list[Array]) -> Array:
    shares = np.array([MIX[name] if len(own) else 0.0 for name, own in zip(SOURCES, by_source, strict=True)])
    return shares / shares.sum()
