"""The text encoder in torch: MiniLM's or MPNet's shape, or the small one that learns from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.packing import Bucket, TokenTable, moved, packed_tokens
from training.rounding import rounded

HEADS = 12
STUDENT_RANK = 128
# The layers of MiniLM that a student of so many layers starts from.
STUDENT_LAYERS = {4: (0, 2, 3, 5), 6: (0, 1, 2, 3, 4, 5)}
# Padded tokens in one piece of a large encoding; more than a processor's caches hold only slows it down.
MOST_TOKENS = {"cuda": 98_304, "cpu": 8_192}
# Below a variance of this, a norm no longer divides by it: without and with a bias for how far words are apart.
NORM_FLOORS = {False: 1e-12, True: 1e-5}
FARTHEST = 128

Array = NDArray[Any]
State = dict[str, Array]


class Linear(nn.Linear):
    """A matrix that may have to live with four bits: it then learns as if it had been rounded already."""

    is_rounded = False

    def forward(self, inputs: Tensor) -> Tensor:
        weight = self.weight
        if self.is_rounded:
            weight = weight + (rounded(weight) - weight).detach()
        return functional.linear(inputs, weight, self.bias)


class Layer(nn.Module):
    def __init__(self, width: int, dropout: float, norm_floor: float) -> None:
        super().__init__()
        self.attend = Linear(width, 3 * width)
        self.attended = Linear(width, width)
        self.attended_norm = nn.LayerNorm(width, eps=norm_floor)
        self.widen = Linear(width, 4 * width)
        self.narrow = Linear(4 * width, width)
        self.narrow_norm = nn.LayerNorm(width, eps=norm_floor)
        self.dropout = dropout

    def forward(self, values: Tensor, buckets: Sequence[Bucket], masks: Sequence[Tensor]) -> Tensor:
        rate = self.dropout if self.training else 0.0
        joined = self.attend(values).split([len(bucket.filled) for bucket in buckets])
        mixed = [self._mixed(*one, rate) for one in zip(joined, buckets, masks, strict=True)]
        values = self.attended_norm(values + functional.dropout(self.attended(torch.cat(mixed)), rate))
        wide = self.narrow(functional.gelu(self.widen(values)))
        return self.narrow_norm(values + functional.dropout(wide, rate))

    def _mixed(self, joined: Tensor, bucket: Bucket, mask: Tensor, rate: float) -> Tensor:
        """What each word takes from the words around it."""
        count, length = bucket.tokens.shape
        padded = bucket.padded(joined).view(count, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*padded.unbind(0), attn_mask=mask, dropout_p=rate)
        return bucket.packed(mixed.transpose(1, 2).reshape(count, length, -1))


class TextEncoder(nn.Module):
    """Buckets of token rows to unit vectors, in their order; its shape is that of the state it is made for."""

    def __init__(self, state: Mapping[str, Array], *, dropout: float, is_rounded: bool) -> None:
        super().__init__()
        words, rank = state["words.weight"].shape
        positions, width = state["positions.weight"].shape
        self.words = nn.Embedding(words, rank)
        self.projection = nn.Linear(rank, width, bias=False) if rank != width else None
        self.positions = nn.Embedding(positions, width)
        # MPNet adds to the attention a number for how far two words are apart.
        distances = state.get("distances.weight")
        self.distances = nn.Embedding(*distances.shape) if distances is not None else None
        norm_floor = NORM_FLOORS[distances is not None]
        self.embedding_norm = nn.LayerNorm(width, eps=norm_floor)
        self.layers = nn.ModuleList(Layer(width, dropout, norm_floor) for _ in range(layers_of(state)))
        outlook = state.get("outlook.weight")
        self.outlook = nn.Linear(outlook.shape[1], outlook.shape[0], bias=False) if outlook is not None else None
        self.dimensions = width if outlook is None else outlook.shape[0]
        self.dropout = dropout
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.is_rounded = is_rounded

    def forward(self, buckets: Sequence[Bucket]) -> Tensor:
        words = self.words(packed_tokens(buckets))
        words = self.projection(words) if self.projection is not None else words
        places = torch.cat([bucket.places for bucket in buckets])
        values = self.embedding_norm(words + self.positions.weight[places])
        values = functional.dropout(values, self.dropout if self.training else 0.0)
        # A place that is filled may still hold nothing, where words were left out.
        present = [bucket.tokens != 0 for bucket in buckets]
        masks = [self._mask(own, values.dtype) for own in present]
        for layer in self.layers:
            values = layer(values, buckets, masks)
        parts = values.float().split([len(bucket.filled) for bucket in buckets])
        total = torch.cat(
            [
                (bucket.padded(part) * own[:, :, None]).sum(1)
                for part, bucket, own in zip(parts, buckets, present, strict=True)
            ]
        )
        total = self.outlook(total) if self.outlook is not None else total
        return functional.normalize(total.float(), dim=-1)

    def _mask(self, present: Tensor, dtype: torch.dtype) -> Tensor:
        seen = present[:, None, None, :]
        if self.distances is None:
            return seen
        length = present.shape[1]
        kind = torch.bfloat16 if torch.is_autocast_enabled(present.device.type) else dtype
        # What MPNet knows about distances is left as it is: without a gradient the fast kernels can be used.
        bias = self.distances.weight.detach()[_distance_buckets(length, present.device)].permute(2, 0, 1).to(kind)
        return bias[None].masked_fill(~seen, torch.finfo(kind).min).contiguous()

    @property
    def device(self) -> torch.device:
        return self.words.weight.device


def _distance_buckets(length: int, device: torch.device, buckets: int = 32) -> Tensor:
    """Which of MPNet's numbers goes with each pair of places: exact when near, in growing steps when far."""
    places = torch.arange(length, device=device)
    apart = places[:, None] - places[None, :]
    half = buckets // 2
    side = (apart < 0).long() * half
    far = apart.abs()
    exact = half // 2
    steps = exact + (torch.log(far.float().clamp(min=1) / exact) / math.log(FARTHEST / exact) * (half - exact)).long()
    return side + torch.where(far < exact, far, steps.clamp(max=half - 1))


def layers_of(state: Mapping[str, Array]) -> int:
    return 1 + max(int(key.split(".")[1]) for key in state if key.startswith("layers."))


def from_state(state: Mapping[str, Array], *, dropout: float = 0.1, is_rounded: bool = False) -> TextEncoder:
    """An encoder of the shape that a state has."""
    model = TextEncoder(state, dropout=dropout, is_rounded=is_rounded)
    model.load_state_dict({key: torch.from_numpy(np.ascontiguousarray(array)) for key, array in state.items()})
    return model


def to_state(model: TextEncoder) -> State:
    return {key: value.detach().float().cpu().numpy().copy() for key, value in model.state_dict().items()}


def interpolate(first: Mapping[str, Array], second: Mapping[str, Array], share: float) -> State:
    """`share` of the second state, the rest of the first."""
    return {key: ((1 - share) * first[key] + share * second[key]).astype(np.float32) for key in first}


def student_state(grown: Mapping[str, Array], word_counts: Array, *, positions: int, layers: Sequence[int]) -> State:
    """Some of the layers, and word vectors as the product of two thinner matrices, frequent words most exact."""
    words = grown["words.weight"].astype(np.float64)
    weight = np.sqrt(word_counts + 1.0)[:, None]
    _, _, right = np.linalg.svd(weight * words, full_matrices=False)
    basis = right[:STUDENT_RANK]
    # Both factors get the same size, so that one learning rate suits both.
    size = math.sqrt(float(np.linalg.norm(words @ basis.T, axis=1).mean()) / math.sqrt(STUDENT_RANK))
    state = {
        "words.weight": words @ basis.T / size,
        "projection.weight": basis.T * size,
        "positions.weight": grown["positions.weight"][:positions],
        "embedding_norm.weight": grown["embedding_norm.weight"],
        "embedding_norm.bias": grown["embedding_norm.bias"],
    }
    for ours, theirs in enumerate(layers):
        prefix = f"layers.{theirs}."
        state |= {key.replace(prefix, f"layers.{ours}."): own for key, own in grown.items() if key.startswith(prefix)}
    return {key: np.asarray(array, dtype=np.float32) for key, array in state.items()}


def encode(
    model: TextEncoder, asked: Sequence[tuple[TokenTable, Array, int]], change: Callable[[Tensor], Tensor] | None = None
) -> list[Tensor]:
    """Vectors of rows of some tables, all in one go; each table's rows in so many buckets of similar length.

    `change` may alter the tokens of the first table.
    """
    prepared = [table.buckets(rows, count) for table, rows, count in asked]
    buckets = [bucket for own, _ in prepared for bucket in own]
    if change is not None:
        altered = len(prepared[0][0])
        buckets[:altered] = [replace(bucket, tokens=change(bucket.tokens)) for bucket in buckets[:altered]]
    parts = model(buckets).split([len(rows) for _, rows, _ in asked])
    return [part[moved(back, model.device)] for part, (_, back) in zip(parts, prepared, strict=True)]


@torch.no_grad()
def encode_all(model: TextEncoder, table: TokenTable, rows: Array | None = None, *, exact: bool = False) -> Tensor:
    """Vectors of many rows, without learning; in 16 bits unless `exact`."""
    was_training = model.training
    model.eval()
    chosen = np.arange(len(table)) if rows is None else rows
    order = np.argsort(table.lengths[chosen], kind="stable")
    vectors = torch.empty((len(chosen), model.dimensions), device=model.device)
    with autocast(model.device, enabled=not exact):
        for part in _token_slices(table.lengths[chosen][order], MOST_TOKENS[model.device.type]):
            own = order[part]
            vectors[moved(own, model.device)] = model([table.bucket(chosen[own])]).float()
    model.train(was_training)
    return vectors


def autocast(device: torch.device, *, enabled: bool = True) -> torch.autocast:
    """16-bit arithmetic where the device is fast at it."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled and device.type == "cuda")


def _token_slices(lengths: Array, most: int) -> Iterator[slice]:
    """Slices of ascending lengths, each of a bounded number of padded tokens."""
    start = 0
    for stop in range(64, len(lengths) + 64, 64):
        last = min(stop, len(lengths))
        following = min(last + 64, len(lengths))
        if last == len(lengths) or (following - start) * lengths[following - 1] > most:
            yield slice(start, last)
            start = last
