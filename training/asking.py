"""Teach the finished encoder to ask: `python -m training.asking DATA --cache FOLDER`.

One matrix, applied to queries only, moves them closer to the tools they need; the encoder and the vectors of tools stay
as they are. It is fitted over all tools at once, which no batch on the GPU sees, and takes a minute on any machine; to
encode the queries and tools first takes about twenty minutes. It goes into the weights file; the card gets the checksum.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.arrays_file import ArraysFile, as_bytes
from toolcrib.search.encoder import SHIPPED_WEIGHTS, Encoder
from toolcrib.search.encoder_text import document_text
from toolcrib.search.transformer import unit
from training.corpus import OWN_INTENTS, Entry, Item, read_corpus
from training.descent import descend
from training.install import record

SEED = 1
STEPS, BATCH, RATE = 150, 512, 1e-3
# How sharply the right tool has to stand out, and how dear it is to leave the identity.
SCALE, DEARNESS = 20.0, 1e-3
# Tools as alike as this to the right one are not held against it.
EQUIVALENT = 0.93
# How much of a batch asks for tools of which pool.
SHARES = {"toucan": 0.65, "own": 0.10, "metatool": 0.10, "sealtools": 0.08, "bfcl": 0.07}
_ENCODED_AT_ONCE = 2_000

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """The tools of a pool that may be trained on, and the queries for them with the places of their answers."""

    share: float
    tools: Floats
    queries: Floats
    answers: Sequence[Numbers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="where vectors are kept between runs")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    corpus = read_corpus(options.data, OWN_INTENTS, is_readable=lambda _: True, compounds=0, seed=SEED)
    items = [item for item in corpus.items if item.source != "self"]
    queries = encoded(options.cache / "queries", [item.text for item in items])
    tools = encoded(options.cache / "tools", [document_text(entry.tool) for entry in corpus.entries])
    matrix = fit(list(pools(corpus.entries, items, tools, queries)))
    install(matrix)


def encoded(path: Path, texts: Sequence[str]) -> Floats:
    """Vectors of texts by the encoder that ships, kept in a file named after both."""
    encoder = Encoder.shipped()
    mark = hashlib.sha256("\n".join([encoder.identity, *texts]).encode()).hexdigest()[:16]
    kept = path.with_name(f"{path.name}-{mark}.npy")
    if not kept.exists():
        starts = range(0, len(texts), _ENCODED_AT_ONCE)
        parts = [encoder.encode(texts[start : start + _ENCODED_AT_ONCE]) for start in starts]
        np.save(kept, np.concatenate(parts).astype(np.float16))
    return unit(np.load(kept).astype(np.float32))


def pools(entries: Sequence[Entry], items: Sequence[Item], tools: Floats, queries: Floats) -> Iterator[Pool]:
    for name, share in SHARES.items():
        own = [number for number, entry in enumerate(entries) if entry.pool == name and entry.is_trained]
        places = {number: place for place, number in enumerate(own)}
        asked = [number for number, item in enumerate(items) if entries[item.tools[0]].pool == name]
        answers = [np.array([places[tool] for tool in items[number].tools]) for number in asked]
        yield Pool(share, tools[own], queries[asked], answers)


def fit(known: Sequence[Pool]) -> Floats:
    """The matrix under which the right tools are likeliest among all of their pool, not far from the identity."""
    chance = np.random.default_rng(SEED)
    identity = np.eye(known[0].tools.shape[1], dtype=np.float32)
    losses: list[float] = []

    def gradient(matrix: Floats) -> Floats:
        slope = 2 * DEARNESS * (matrix - identity)
        loss = 0.0
        for pool in known:
            drawn = chance.integers(len(pool.queries), size=round(BATCH * pool.share))
            own_loss, own_slope = _blame(matrix, pool, drawn, chance)
            loss += pool.share * own_loss
            slope += pool.share * own_slope
        losses.append(loss)
        if len(losses) % 50 == 0:
            print(f"step {len(losses)}: loss {loss:.3f}", flush=True)
        return slope

    return descend(identity, gradient, steps=STEPS, rate=RATE, long_memory=0.999).astype(np.float32)


def _blame(matrix: Floats, pool: Pool, drawn: Numbers, chance: np.random.Generator) -> tuple[float, Floats]:
    """The loss of some queries, and how it changes with the matrix."""
    given = pool.queries[drawn]
    moved = given @ matrix
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    asked = moved / length
    scores = SCALE * asked @ pool.tools.T
    is_right = np.zeros(scores.shape, dtype=np.bool_)
    for row, number in zip(is_right, drawn, strict=True):
        row[pool.answers[number]] = True
    picked = np.array([chance.choice(pool.answers[number]) for number in drawn])
    scores[(pool.tools[picked] @ pool.tools.T > EQUIVALENT) & ~is_right] = -np.inf
    everywhere, right = _softmax(scores), _softmax(np.where(is_right, scores, -np.inf))
    loss = float(np.mean(-np.log(np.maximum((everywhere * is_right).sum(axis=1), 1e-9))))
    pull = SCALE * ((everywhere - right) @ pool.tools) / len(drawn)
    # Only what is across the vector turns it; what is along it is lost in its length.
    turned = (pull - asked * (asked * pull).sum(axis=1, keepdims=True)) / length
    return loss, given.T @ turned


def _softmax(scores: Floats) -> Floats:
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = grown / grown.sum(axis=1, keepdims=True)
    return shares


def install(matrix: Floats) -> None:
    """Put the matrix into the weights file; its identity stays, for the vectors of tools do."""
    weights = ArraysFile.open(SHIPPED_WEIGHTS)
    arrays = {**{name: np.array(array) for name, array in weights.arrays.items()}, "asking": matrix.astype(np.float16)}
    record(as_bytes(arrays, weights.notes))


if __name__ == "__main__":
    main()
