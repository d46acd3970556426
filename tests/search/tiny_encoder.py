"""An encoder of random weights: as deterministic as the shipped one and a hundred times faster, but it knows nothing."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.array_types import Floats
from toolcrib.search.arrays_file import as_bytes
from toolcrib.search.encoder import Encoder
from toolcrib.search.tokenizer import Tokenizer
from toolcrib.search.transformer import Transformer

VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ":", "|", "!", "?", "-"),
    *("send", "mail", "weather", "file", "un", "##believ", "##able", "##s", "cafe", "東", "京", "a", "##b"),
]
WIDTH, INNER, HEADS, RANK, POSITIONS = 64, 96, 4, 8, 32

Arrays = dict[str, NDArray[Any]]


def random_arrays(layers: int) -> Arrays:
    """The same small model every time."""
    chance = np.random.default_rng(1)

    def floats(*shape: int) -> NDArray[np.float32]:
        return chance.normal(0, 0.3, shape).astype(np.float32)

    made: Arrays = {
        "words.weight": chance.integers(0, 256, (len(VOCABULARY), 3 * RANK // 4), dtype=np.uint8),
        "words.scale": chance.uniform(0.05, 0.2, (len(VOCABULARY), 2)).astype(np.float16),
        "projection": floats(RANK, WIDTH).astype(np.float16),
        "positions": floats(POSITIONS, WIDTH).astype(np.float16),
        "embedding_norm.gain": 1 + floats(WIDTH),
        "embedding_norm.bias": floats(WIDTH),
        "vocabulary": np.frombuffer(zlib.compress("\n".join(VOCABULARY).encode()), dtype=np.uint8),
    }
    matrices = {
        "attend": (WIDTH, 3 * WIDTH),
        "attended": (WIDTH, WIDTH),
        "widen": (WIDTH, INNER),
        "narrow": (INNER, WIDTH),
    }
    for layer in range(layers):
        for name, shape in matrices.items():
            made[f"layers.{layer}.{name}.weight"] = chance.integers(-127, 128, shape, dtype=np.int8)
            made[f"layers.{layer}.{name}.scale"] = np.abs(floats(shape[1])) / 60
            made[f"layers.{layer}.{name}.bias"] = floats(shape[1])
        for name in ("attended_norm", "narrow_norm"):
            made[f"layers.{layer}.{name}.gain"] = 1 + floats(WIDTH)
            made[f"layers.{layer}.{name}.bias"] = floats(WIDTH)
    return made


def weights_file(arrays: Arrays, layers: int) -> bytes:
    return as_bytes(arrays, {"heads": str(HEADS), "layers": str(layers), "identity": "test"})


class TinyEncoder(Encoder):
    """Remembers what it was asked to encode."""

    def __init__(self, identity: str = "tiny") -> None:
        super().__init__(Tokenizer(VOCABULARY), Transformer(random_arrays(1), heads=HEADS, layers=1), identity)
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats:
        self.encoded += texts
        return super().encode(texts)
