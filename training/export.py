"""The student as the file that ships: 4-bit words, 8-bit matrices, the vocabulary, and what it is."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.arrays_file import as_bytes
from training.compact import quantize_rows, quantize_words, restore_words
from training.model import HEADS, State

MOST_PIECES = 160
MOST_BYTES = 10_000_000
_MATRICES = ("attend", "attended", "widen", "narrow")
_NORMS = ("attended_norm", "narrow_norm")

Array = NDArray[Any]


def quantized(state: Mapping[str, Array]) -> State:
    """The state as the shipped file will hold it, in 32 bits again: what has to be measured."""
    rounded = {}
    for key, array in state.items():
        if key == "words.weight":
            rounded[key] = restore_words(*quantize_words(array))
        elif key.rsplit(".", 2)[-2] in _MATRICES and key.endswith(".weight"):
            rows, scale = quantize_rows(array)
            rounded[key] = rows.astype(np.float32) * scale[:, None]
        elif key in {"projection.weight", "positions.weight"}:
            rounded[key] = array.astype(np.float16).astype(np.float32)
        else:
            rounded[key] = array.astype(np.float32)
    return rounded


def write(path: Path, state: Mapping[str, Array], vocabulary: Sequence[str], notes: Mapping[str, str]) -> str:
    """Write the file and return its SHA-256."""
    kept = [number for number, piece in enumerate(vocabulary) if not piece.startswith("[unused")]
    layers = 1 + max(int(key.split(".")[1]) for key in state if key.startswith("layers."))
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
            matrix, outputs = quantize_rows(state[f"{name}.weight"])
            # Inputs by outputs: that way round a product with few rows is twice as fast.
            arrays |= {f"{name}.weight": matrix.T, f"{name}.scale": outputs, f"{name}.bias": state[f"{name}.bias"]}
        for part in _NORMS:
            name = f"layers.{layer}.{part}"
            arrays |= {f"{name}.gain": state[f"{name}.weight"], f"{name}.bias": state[f"{name}.bias"]}
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}
