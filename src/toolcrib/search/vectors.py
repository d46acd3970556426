"""The vectors of tools, one byte a number, and which lie closest to a query."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.array_types import Floats, Numbers
from toolcrib.search.arrays_file import Array

# Up to so many vectors are all compared in full; of more, the signs choose which.
_COMPARED_IN_FULL = 1_024
_LARGEST_CODE = np.float32(127)
_SCALE_BYTES = 4


class Vectors:
    """A vector for each document number that was given one; the first numbers may lie in a mapped file.

    Each is kept as bytes with a scale, and as its signs alone, one bit a number: counting the bits in which two
    vectors differ is a hundred times cheaper than multiplying them, and good enough to tell what is worth multiplying.
    """

    def __init__(self, dimensions: int, stored: Mapping[str, Array] | None = None) -> None:
        arrays = stored or empty_arrays(dimensions)
        self._dimensions = dimensions
        self._stored = _Part(arrays["vectors.codes"], arrays["vectors.scales"], arrays["vectors.signs"])
        self._first = len(self._stored)
        self._grown = _Part.of_size(0, dimensions)

    def has(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Which of the numbers have a vector."""
        return self._gathered(numbers, "scales") > 0

    def put(self, numbers: Numbers, vectors: Floats) -> None:
        """Give documents their unit vectors."""
        codes, scales = quantized(vectors)
        self.put_codes(numbers, codes, scales)

    def put_codes(self, numbers: Numbers, codes: NDArray[np.int8], scales: Floats) -> None:
        highest = int(numbers.max(initial=-1)) - self._first
        if highest >= len(self._grown):
            self._grown = self._grown.enlarged(max(2 * len(self._grown), highest + 1, 64))
        is_stored = numbers < self._first
        self._stored.put(numbers[is_stored], codes[is_stored], scales[is_stored])
        self._grown.put(numbers[~is_stored] - self._first, codes[~is_stored], scales[~is_stored])

    def forget(self, numbers: range) -> None:
        """Documents are gone: nothing is near to them any more."""
        self._stored.scales[numbers.start : numbers.stop] = 0
        self._grown.scales[max(0, numbers.start - self._first) : max(0, numbers.stop - self._first)] = 0

    def codes(self, numbers: Numbers) -> tuple[NDArray[np.int8], Floats]:
        """Bytes and scales of documents; a scale of 0 where there is no vector."""
        return self._gathered(numbers, "codes"), self._gathered(numbers, "scales")

    def cosines(self, numbers: Numbers, queries: Floats) -> Floats:
        """Documents by queries; NaN for a document without a vector."""
        codes, scales = self.codes(numbers)
        products = (codes.astype(np.float32) @ queries.T) * scales[:, None]
        products[scales == 0] = np.nan
        return products

    def nearest(self, query: Floats, count: int, size: int) -> Numbers:
        """About the `count` closest documents below `size`, in no order."""
        stored = self._stored.nearest(query, count)
        grown = self._grown.nearest(query, count) + self._first
        found = np.concatenate([stored, grown])
        found = found[found < size]
        if len(found) <= count:
            return found
        cosines = self.cosines(found, query[None, :])[:, 0]
        return found[np.argpartition(-np.nan_to_num(cosines, nan=-1.0), count)[:count]]

    def _gathered(self, numbers: Numbers, name: str) -> Array:
        """Rows of both parts under their numbers; zeros beyond what has grown."""
        stored, grown = getattr(self._stored, name), getattr(self._grown, name)
        rows = np.zeros((len(numbers), *grown.shape[1:]), dtype=grown.dtype)
        is_stored = numbers < self._first
        rows[is_stored] = stored[numbers[is_stored]]
        is_grown = ~is_stored & (numbers - self._first < len(grown))
        rows[is_grown] = grown[numbers[is_grown] - self._first]
        return rows


class _Part:
    """Neighbouring vectors; signs are laid out bit group by bit group, which is how they are read."""

    def __init__(self, codes: NDArray[np.int8], scales: Floats, signs: NDArray[np.uint64]) -> None:
        self.codes, self.scales, self.signs = codes, scales, signs

    @classmethod
    def of_size(cls, size: int, dimensions: int) -> _Part:
        arrays = empty_arrays(dimensions, size)
        return cls(arrays["vectors.codes"], arrays["vectors.scales"], arrays["vectors.signs"])

    def __len__(self) -> int:
        return len(self.scales)

    def enlarged(self, size: int) -> _Part:
        larger = _Part.of_size(size, self.codes.shape[1])
        kept = len(self)
        larger.codes[:kept], larger.scales[:kept], larger.signs[:, :kept] = self.codes, self.scales, self.signs
        return larger

    def put(self, places: Numbers, codes: NDArray[np.int8], scales: Floats) -> None:
        self.codes[places], self.scales[places] = codes, scales
        self.signs[:, places] = _signs(codes)

    def nearest(self, query: Floats, count: int) -> Numbers:
        kept = max(_COMPARED_IN_FULL, 8 * count)
        if len(self) <= kept:
            return np.flatnonzero(self.scales)
        own = _signs(query[None, :])
        apart = np.zeros(len(self), dtype=np.uint16)
        for row, bits in zip(self.signs, own[:, 0], strict=True):
            apart += np.bitwise_count(row ^ bits)
        apart[self.scales == 0] = np.iinfo(np.uint16).max
        found = np.argpartition(apart, kept)[:kept]
        return found[self.scales[found] > 0]


def empty_arrays(dimensions: int, size: int = 0) -> dict[str, Array]:
    """The arrays of vectors that no document has."""
    return {
        "vectors.codes": np.zeros((size, dimensions), dtype=np.int8),
        "vectors.scales": np.zeros(size, dtype=np.float32),
        "vectors.signs": np.zeros((dimensions // 64, size), dtype=np.uint64),
    }


def stored_arrays(codes: NDArray[np.int8], scales: Floats) -> dict[str, Array]:
    """The arrays that `Vectors` can be given, of documents in their order."""
    return {"vectors.codes": codes, "vectors.scales": scales, "vectors.signs": np.ascontiguousarray(_signs(codes))}


def quantized(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Bytes and one scale a row: row times scale is close to the vector."""
    scales = np.maximum(np.abs(vectors).max(axis=1), np.float32(1e-12)) / _LARGEST_CODE
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def to_bytes(vector: Floats) -> bytes:
    """One vector as it is kept elsewhere: its scale, then its bytes."""
    codes, scales = quantized(vector[None, :])
    return scales.astype("<f4").tobytes() + codes.tobytes()


def from_bytes(kept: bytes) -> tuple[NDArray[np.int8], np.float32] | None:
    """Bytes and scale of a vector that `to_bytes` made; None for anything else."""
    if len(kept) <= _SCALE_BYTES:
        return None
    scale = np.frombuffer(kept, dtype="<f4", count=1)[0]
    return (np.frombuffer(kept, dtype=np.int8, offset=_SCALE_BYTES), scale) if 0 < scale <= 1 else None


def _signs(rows: Array) -> NDArray[np.uint64]:
    """Bit groups by rows."""
    return np.packbits(rows >= 0, axis=1).view(np.uint64).T
