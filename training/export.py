"""The student as the file that ships: words in 6 bits, matrices in 4, the vocabulary, and what it is."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.arrays_file import as_bytes
from toolcrib.search.transformer import unpacked_rows
from training.compact import quantize_words
from training.model import HEADS, State, layers_of
from training.rounding import half_bytes

MOST_PIECES = 160
MOST_BYTES = 10_000_000
# Half bytes count from 0 to 15; this lies between the eight below zero and the eight above.
MIDDLE = 7.5
_MATRICES = ("attend", "attended", "widen", "narrow")
_NORMS = ("attended_norm", "narrow_norm")

Array = NDArray[Any]


def quantized(state: Mapping[str, Array]) -> State:
    """The state as the shipped file will hold it, in 32 bits again: what has to be measured."""
    rounded = {}
    for key, array in state.items():
        if key == "words.weight":
            rounded[key] = unpacked_rows(*quantize_words(array))
        elif key.rsplit(".", 2)[-2] in _MATRICES and key.endswith(".weight"):
            codes, scale = half_bytes(array)
            rounded[key] = (codes.astype(np.float32) - MIDDLE) * scale[:, None]
        elif key in {"projection.weight", "positions.weight"}:
            rounded[key] = array.astype(np.float16).astype(np.float32)
        else:
            rounded[key] = array.astype(np.float32)
    return rounded


def write(path: Path, state: Mapping[str, Array], vocabulary: Sequence[str], notes: Mapping[str, str]) -> str:
    """Write the file and return its SHA-256."""
    kept = [number for number, piece in enumerate(vocabulary) if not piece.startswith("[unused")]
    layers = layers_of(state)
    arrays = _arrays(state, kept, layers)
    words = "\n".join(vocabulary[number] for number in kept).encode()
    arrays["vocabulary"] = np.frombuffer(zlib.compress(words, 9), dtype=np.uint8)
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(name.encode() + array.tobytes())
    known = {**notes, "heads": str(HEADS), "layers": str(layers), "identity": digest.hexdigest()[:16]}
    content = as_bytes(arrays, known)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{len(content)} bytes are more than the {MOST_BYTES} that may ship")
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def _arrays(state: Mapping[str, Array], kept: Sequence[int], layers: int) -> dict[str, Array]:
    rows, scale = quantize_words(state["words.weight"][kept])
    arrays = {
        "words.weight": rows,
        "words.scale": scale,
        "projection": state["projection.weight"].T.astype(np.float16),
        "positions": state["positions.weight"][:MOST_PIECES].astype(np.float16),
        "embedding_norm.gain": state["embedding_norm.weight"],
        "embedding_norm.bias": state["embedding_norm.bias"],
    }
    for layer in range(layers):
        for part in _MATRICES:
            name = f"layers.{layer}.{part}"
            codes, outputs = half_bytes(state[f"{name}.weight"])
            # Inputs by outputs: that way round a product with few rows is twice as fast.
            arrays |= {
                f"{name}.weight": _packed(codes.T),
                f"{name}.scale": outputs,
                f"{name}.bias": state[f"{name}.bias"],
            }
        for part in _NORMS:
            name = f"layers.{layer}.{part}"
            arrays |= {f"{name}.gain": state[f"{name}.weight"], f"{name}.bias": state[f"{name}.bias"]}
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _packed(codes: Array) -> Array:
    """Two numbers to a byte: the upper half of the matrix in the low bits, the lower half in the high ones."""
    half = len(codes) // 2
    packed: Array = codes[:half] | (codes[half:] << 4)
    return packed
