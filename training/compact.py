"""Model states in few bytes: words (or every matrix) in 8 bits, the rest in 16, in parts small enough to travel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_PART_BYTES = 15_000_000
# Numbers of a word's row that share a scale.
WORD_GROUP = 32
# Six bits: 64 values, with zero between the middle two. Four bits cost 0.7 points on the tools of stabletoolbench.
_HALF_WAY = 32
_WORD_ZERO = _HALF_WAY - 0.5
_CUTS = (1.0, 0.9, 0.8, 0.7, 0.6)
_WEIGHT, _ROWS, _SCALE = ".weight", ".rows", ".scale"
_WORDS = "words.weight"
# Matrices smaller than this stay as they are.
_LARGE = 100_000

Array = NDArray[Any]


def save(folder: Path, name: str, state: Mapping[str, Array], *, in_bytes: bool = False) -> None:
    """Write `name.0.npz`, `name.1.npz` and so on, all matrices `in_bytes` if wanted; earlier ones of that name go."""
    for old in folder.glob(f"{name}.*.npz"):
        old.unlink()
    for number, part in enumerate(_parts(_compact(state, in_bytes=in_bytes))):
        np.savez(folder / f"{name}.{number}.npz", **part)


def load(folder: Path, name: str) -> dict[str, Array]:
    """The state that `save` wrote, in 32 bits."""
    arrays: dict[str, Array] = {}
    for path in sorted(folder.glob(f"{name}.*.npz")):
        with np.load(path) as part:
            arrays.update(part)
    if not arrays:
        raise FileNotFoundError(f"no {name}.*.npz in {folder}")
    in_bytes = [key.removesuffix(_ROWS) for key in arrays if key.endswith(_ROWS)]
    matrices = {
        f"{part}{_WEIGHT}": _restored(arrays.pop(f"{part}{_ROWS}"), arrays.pop(f"{part}{_SCALE}")) for part in in_bytes
    }
    return matrices | {key: array.astype(np.float32) for key, array in arrays.items()}


def _restored(rows: Array, scale: Array) -> Array:
    return rows.astype(np.float32) * scale[:, None]


def quantize_rows(matrix: Array) -> tuple[Array, Array]:
    """Bytes and one scale a row: row times scale is close to the matrix's row."""
    scale = np.maximum(np.abs(matrix).max(axis=1), 1e-12).astype(np.float32) / np.float32(127)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


def quantize_words(matrix: Array) -> tuple[Array, Array]:
    """Six-bit numbers, four to three bytes (one of each quarter of a row), and a scale for each 32 numbers of a row."""
    groups = matrix.reshape(len(matrix), -1, WORD_GROUP).astype(np.float32)
    largest = np.maximum(np.abs(groups).max(axis=2, keepdims=True), 1e-9)
    # Cutting off the largest numbers makes the steps finer: each group takes the cut that fits it best.
    tried = [(largest * cut / _WORD_ZERO).astype(np.float16).astype(np.float32) for cut in _CUTS]
    scales = [np.maximum(scale, np.float32(6e-8)) for scale in tried]
    errors = np.stack([((_codes(groups, scale) - _WORD_ZERO) * scale - groups) ** 2 for scale in scales]).sum(axis=3)
    best = errors.argmin(axis=0)[None, :, :, None]
    scale = np.take_along_axis(np.stack(scales), best, axis=0)[0]
    codes = _codes(groups, scale).astype(np.uint8).reshape(len(matrix), -1)
    return _packed(codes), scale[:, :, 0].astype(np.float16)


def _codes(groups: Array, scale: Array) -> Array:
    return np.clip(np.floor(groups / scale), -_HALF_WAY, _HALF_WAY - 1) + _HALF_WAY


def _packed(codes: Array) -> Array:
    first, second, third, fourth = np.split(codes, 4, axis=1)
    return np.concatenate([first | second << 6, second >> 2 | third << 4, third >> 4 | fourth << 2], axis=1)


def _compact(state: Mapping[str, Array], *, in_bytes: bool) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for key, array in state.items():
        if key == _WORDS or (in_bytes and key.endswith(_WEIGHT) and array.ndim == 2 and array.size > _LARGE):
            name = key.removesuffix(_WEIGHT)
            arrays[name + _ROWS], arrays[name + _SCALE] = quantize_rows(array)
        else:
            arrays[key] = array.astype(np.float16)
    return arrays


def _parts(arrays: Mapping[str, Array]) -> list[dict[str, Array]]:
    parts: list[dict[str, Array]] = [{}]
    size = 0
    for key, array in arrays.items():
        if parts[-1] and size + array.nbytes > MOST_PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][key] = array
        size += array.nbytes
    return parts
