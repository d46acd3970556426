"""Texts of unequal length side by side: padding costs only where the words of a text look at each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.bundle import Rows

Array = NDArray[Any]


@dataclass(frozen=True)
class Bucket:
    """Padded token rows (padding is 0) of similar length, and the numbers of the places that hold a token."""

    tokens: Tensor
    filled: Tensor

    @property
    def places(self) -> Tensor:
        """How far from the beginning of its text each token stands."""
        return self.filled % self.tokens.shape[1]

    def packed(self, padded: Tensor) -> Tensor:
        """What belongs to tokens, without the padding."""
        flat: Tensor = _Packed.apply(padded.reshape(self.tokens.numel(), *padded.shape[2:]), self.filled)
        return flat

    def padded(self, packed: Tensor) -> Tensor:
        """The other way round, with zeros for padding."""
        flat: Tensor = _Padded.apply(packed, self.filled, self.tokens.numel())
        return flat.view(*self.tokens.shape, *packed.shape[1:])


class _Packed(torch.autograd.Function):
    """Rows by number. No number comes twice, so that the way back need not add anything up."""

    @staticmethod
    def forward(context: Any, values: Tensor, filled: Tensor) -> Tensor:
        context.save_for_backward(filled)
        context.size = len(values)
        return values.index_select(0, filled)

    @staticmethod
    def backward(context: Any, slope: Tensor) -> tuple[Tensor, None]:
        (filled,) = context.saved_tensors
        return _spread(slope, filled, context.size), None


class _Padded(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, values: Tensor, filled: Tensor, size: int) -> Tensor:
        context.save_for_backward(filled)
        return _spread(values, filled, size)

    @staticmethod
    def backward(context: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        (filled,) = context.saved_tensors
        return slope.index_select(0, filled), None, None


def _spread(values: Tensor, filled: Tensor, size: int) -> Tensor:
    return values.new_zeros(size, *values.shape[1:]).index_copy_(0, filled, values)


class TokenTable:
    """Token rows on the device; their lengths stay here, so that nothing has to wait for the device."""

    def __init__(self, rows: Rows, device: torch.device) -> None:
        self.tokens = torch.from_numpy(rows.tokens).to(device)
        self.lengths = rows.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def bucket(self, rows: Array) -> Bucket:
        """The rows, no wider than the longest of them needs."""
        lengths = self.lengths[rows]
        width = min(-(-int(lengths.max()) // 8) * 8, self.tokens.shape[1])
        filled = np.flatnonzero(np.arange(width) < lengths[:, None])
        device = self.tokens.device
        return Bucket(self.tokens[moved(rows, device), :width].long(), moved(filled, device))

    def buckets(self, rows: Array, count: int) -> tuple[list[Bucket], Array]:
        """The rows by length in so many buckets, and where in them each row went."""
        order = np.argsort(self.lengths[rows], kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return [self.bucket(rows[part]) for part in np.array_split(order, count) if len(part)], back


def packed_tokens(buckets: Sequence[Bucket]) -> Tensor:
    return torch.cat([bucket.packed(bucket.tokens) for bucket in buckets])


def moved(array: Array, device: torch.device) -> Tensor:
    """A small array on the device, without waiting for what the device is still doing."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor
