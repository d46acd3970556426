"""The forward pass of a small BERT in plain numpy: words in 6 bits, matrices in 4 or 8, activations in 32."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.array_types import Floats

Integers = NDArray[np.integer[Any]]
Arrays = Mapping[str, NDArray[Any]]

_VARIANCE_FLOOR = np.float32(1e-12)
_MASKED = np.float32(-1e9)
# Half bytes count from 0 to 15: zero lies in the middle.
_LOW_HALF = np.uint8(15)
_HALF_BYTE_ZERO = np.float32(7.5)
# Likewise for the six bits of words.
_SIX_BIT_ZERO = np.float32(31.5)
# Abramowitz and Stegun 7.1.26: the error function to 1.5e-7.
_ERF_DECAY = np.float32(0.3275911)
_ERF_TERMS = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
_ROOT_HALF = np.float32(math.sqrt(0.5))
_GELU_ROWS = 32


@dataclass(frozen=True, slots=True)
class _Linear:
    """A matrix, inputs by outputs, with one scale for each output, kept small until it is needed.

    Signed bytes are the numbers themselves. Other bytes hold two numbers each, from the upper half of the matrix in the
    low bits and from the lower half in the high ones. They become floats in a scratch area just before they are needed:
    that costs little of a pass and saves most of the memory.
    """

    weight: NDArray[np.int8 | np.uint8]
    scale: Floats
    bias: Floats

    @classmethod
    def of(cls, arrays: Arrays, name: str) -> _Linear:
        return cls(arrays[f"{name}.weight"], arrays[f"{name}.scale"], arrays[f"{name}.bias"])

    @property
    def is_packed(self) -> bool:
        return bool(self.weight.dtype == np.uint8)

    @property
    def inputs(self) -> int:
        return len(self.weight) * (2 if self.is_packed else 1)

    @property
    def size(self) -> int:
        return self.inputs * int(self.weight.shape[1])

    def __call__(self, inputs: Floats, scratch: Floats) -> Floats:
        weight = scratch[: self.size].reshape(self.inputs, -1)
        if self.is_packed:
            np.copyto(weight[: len(self.weight)], self.weight & _LOW_HALF)
            np.copyto(weight[len(self.weight) :], self.weight >> 4)
        else:
            np.copyto(weight, self.weight)
        outputs: Floats = inputs @ weight
        if self.is_packed:
            # Taking the zero off here costs a number for each row, not one for each weight.
            outputs -= _HALF_BYTE_ZERO * inputs.sum(axis=1, keepdims=True)
        outputs *= self.scale
        outputs += self.bias
        return outputs


@dataclass(frozen=True, slots=True)
class _Norm:
    gain: Floats
    bias: Floats

    @classmethod
    def of(cls, arrays: Arrays, name: str) -> _Norm:
        return cls(arrays[f"{name}.gain"], arrays[f"{name}.bias"])

    def __call__(self, values: Floats) -> Floats:
        """Normalise each row in place."""
        values -= values.mean(axis=-1, keepdims=True)
        variance = np.einsum("ij,ij->i", values, values)[:, None] / np.float32(values.shape[-1])
        values /= np.sqrt(variance + _VARIANCE_FLOOR)
        values *= self.gain
        values += self.bias
        return values


@dataclass(frozen=True, slots=True)
class _Grid:
    """Texts of unequal length as rows of one length: only attention needs them so, all else skips the padding."""

    is_there: NDArray[np.bool_]
    places: NDArray[np.int64]
    mask: Floats

    @classmethod
    def of(cls, lengths: Integers, width: int) -> _Grid:
        is_there = np.arange(width) < lengths[:, None]
        return cls(is_there, np.flatnonzero(is_there), np.where(is_there, np.float32(0), _MASKED))

    def spread(self, tokens: Floats) -> Floats:
        """The tokens at their places, with zeros in between."""
        if len(tokens) == self.is_there.size:
            return tokens
        spread = np.zeros((self.is_there.size, tokens.shape[1]), dtype=np.float32)
        spread[self.places] = tokens
        return spread

    def gathered(self, spread: Floats) -> Floats:
        """The tokens end to end again."""
        return spread if len(self.places) == len(spread) else spread[self.places]


@dataclass(frozen=True, slots=True)
class _Layer:
    attend: _Linear
    attended: _Linear
    attended_norm: _Norm
    widen: _Linear
    narrow: _Linear
    narrow_norm: _Norm

    @classmethod
    def of(cls, arrays: Arrays, name: str) -> _Layer:
        return cls(
            attend=_Linear.of(arrays, f"{name}.attend"),
            attended=_Linear.of(arrays, f"{name}.attended"),
            attended_norm=_Norm.of(arrays, f"{name}.attended_norm"),
            widen=_Linear.of(arrays, f"{name}.widen"),
            narrow=_Linear.of(arrays, f"{name}.narrow"),
            narrow_norm=_Norm.of(arrays, f"{name}.narrow_norm"),
        )

    @property
    def matrices(self) -> tuple[_Linear, ...]:
        return self.attend, self.attended, self.widen, self.narrow

    def __call__(self, values: Floats, grid: _Grid, heads: int, scratch: Floats) -> Floats:
        """One step for the tokens of all texts, laid end to end."""
        mixed = self.attended(_attention(self.attend(values, scratch), grid, heads), scratch)
        mixed += values
        values = self.attended_norm(mixed)
        wide = self.widen(values, scratch)
        gelu(wide)
        narrowed = self.narrow(wide, scratch)
        narrowed += values
        return self.narrow_norm(narrowed)


class Transformer:
    """Word piece numbers in, one unit vector for each text out."""

    def __init__(self, arrays: Arrays, *, heads: int, layers: int) -> None:
        self._rows, self._row_scale = arrays["words.weight"], arrays["words.scale"]
        self._projection = arrays["projection"].astype(np.float32)
        if 4 * self._rows.shape[1] != 3 * len(self._projection):
            raise ValueError("the rows of words are not in six bits")
        self._positions = arrays["positions"].astype(np.float32)
        self._norm = _Norm.of(arrays, "embedding_norm")
        self._layers = [_Layer.of(arrays, f"layers.{number}") for number in range(layers)]
        self._heads = heads
        self._largest = max(matrix.size for layer in self._layers for matrix in layer.matrices)

    @property
    def dimensions(self) -> int:
        return int(self._positions.shape[1])

    @property
    def max_pieces(self) -> int:
        return int(self._positions.shape[0])

    def __call__(self, pieces: Integers, lengths: Integers) -> Floats:
        """Vectors of texts that are padded to one length."""
        grid = _Grid.of(lengths, pieces.shape[1])
        # One scratch area a pass, not one an object: passes may run in several threads.
        scratch = np.empty(self._largest, dtype=np.float32)
        values = self._embedded(pieces.ravel()[grid.places], grid.places % pieces.shape[1])
        for layer in self._layers:
            values = layer(values, grid, self._heads, scratch)
        # The mean of a text's tokens and their sum point the same way.
        return unit(np.add.reduceat(values, np.cumsum(lengths) - lengths))

    def _embedded(self, pieces: Integers, positions: Integers) -> Floats:
        rows = unpacked_rows(self._rows[pieces], self._row_scale[pieces])
        values: Floats = rows @ self._projection
        values += self._positions[positions]
        return self._norm(values)


def unpacked_rows(packed: NDArray[np.uint8], scale: NDArray[np.float16]) -> Floats:
    """Rows of six-bit numbers, four to three bytes (one of each quarter of a row), each stretch of a row with its scale."""
    low, middle, high = np.split(packed, 3, axis=1)
    quarters = (low & 63, low >> 6 | (middle & 15) << 2, middle >> 4 | (high & 3) << 4, high >> 2)
    codes = np.concatenate(quarters, axis=1).astype(np.float32)
    codes -= _SIX_BIT_ZERO
    stretches = codes.reshape(len(packed), scale.shape[1], -1)
    stretches *= scale.astype(np.float32)[:, :, None]
    return codes


def gelu(values: Floats) -> None:
    """The exact GELU, in place, some rows at a time: what lies between then stays in the processor's cache."""
    for start in range(0, len(values), _GELU_ROWS):
        _gelu(values[start : start + _GELU_ROWS])


def _gelu(values: Floats) -> None:
    scaled = values * _ROOT_HALF
    size = np.abs(scaled)
    step = size * _ERF_DECAY
    step += 1
    np.reciprocal(step, out=step)
    tail = step * _ERF_TERMS[0]
    for term in _ERF_TERMS[1:]:
        tail += term
        tail *= step
    np.multiply(size, size, out=size)
    np.negative(size, out=size)
    tail *= np.exp(size, out=size)
    np.subtract(1, tail, out=tail)
    np.copysign(tail, scaled, out=tail)
    tail += 1
    tail *= 0.5
    values *= tail


def _attention(joined: Floats, grid: _Grid, heads: int) -> Floats:
    """Mix the tokens of each text; `joined` holds queries, keys and values side by side."""
    count, length = grid.mask.shape
    width = joined.shape[1] // (3 * heads)
    parts = grid.spread(joined).reshape(count, length, 3, heads, width)
    queries, keys, values = parts.transpose(2, 0, 3, 1, 4)
    shares: Floats = (queries * np.float32(width**-0.5)) @ keys.swapaxes(-1, -2)
    shares += grid.mask[:, None, None, :]
    shares -= shares.max(axis=-1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=-1, keepdims=True)
    return grid.gathered((shares @ values).swapaxes(1, 2).reshape(count * length, heads * width))


def unit(vectors: Floats) -> Floats:
    """The vectors at length 1, in place."""
    vectors /= np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-12))
    return vectors
