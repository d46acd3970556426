"""The text encoder in torch: MiniLM's shape, or the small one that is distilled from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.bundle import Rows

WIDTH, HEADS, INNER = 384, 12, 1536
NORM_FLOOR = 1e-12
STUDENT_RANK = 128
# The teacher's layers that a student starts from.
STUDENT_LAYERS = (0, 2, 3, 5)
# Padded tokens in one piece of a large encoding; more than a processor's caches hold only slows it down.
MOST_TOKENS = {"cuda": 98_304, "cpu": 8_192}

Array = NDArray[Any]
State = dict[str, Array]


class Layer(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.attend = nn.Linear(WIDTH, 3 * WIDTH)
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.attended_norm = nn.LayerNorm(WIDTH, eps=NORM_FLOOR)
        self.widen = nn.Linear(WIDTH, INNER)
        self.narrow = nn.Linear(INNER, WIDTH)
        self.narrow_norm = nn.LayerNorm(WIDTH, eps=NORM_FLOOR)
        self.dropout = dropout

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        count, length, _ = values.shape
        joined = self.attend(values).view(count, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        rate = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(*joined.unbind(0), attn_mask=mask, dropout_p=rate)
        mixed = self.attended(mixed.transpose(1, 2).reshape(count, length, WIDTH))
        values = self.attended_norm(values + functional.dropout(mixed, rate))
        wide = self.narrow(functional.gelu(self.widen(values)))
        return self.narrow_norm(values + functional.dropout(wide, rate))


class TextEncoder(nn.Module):
    """Padded token rows (padding is 0) to unit vectors."""

    def __init__(self, *, words: int, positions: int, layers: int, rank: int | None = None, dropout: float = 0.1):
        super().__init__()
        self.words = nn.Embedding(words, rank or WIDTH)
        self.projection = nn.Linear(rank, WIDTH, bias=False) if rank else None
        self.positions = nn.Embedding(positions, WIDTH)
        self.embedding_norm = nn.LayerNorm(WIDTH, eps=NORM_FLOOR)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))
        self.dropout = dropout

    def forward(self, tokens: Tensor) -> Tensor:
        present = tokens != 0
        words = self.words(tokens)
        words = self.projection(words) if self.projection is not None else words
        values = self.embedding_norm(words + self.positions.weight[: tokens.shape[1]])
        values = functional.dropout(values, self.dropout if self.training else 0.0)
        mask = present[:, None, None, :]
        for layer in self.layers:
            values = layer(values, mask)
        total = (values.float() * present[:, :, None]).sum(1)
        return functional.normalize(total, dim=-1)

    @property
    def device(self) -> torch.device:
        return self.words.weight.device


def from_state(state: Mapping[str, Array], *, dropout: float = 0.1) -> TextEncoder:
    """An encoder of the shape that a state has."""
    words, rank = state["words.weight"].shape
    layers = 1 + max(int(key.split(".")[1]) for key in state if key.startswith("layers."))
    model = TextEncoder(
        words=words,
        positions=len(state["positions.weight"]),
        layers=layers,
        rank=rank if rank != WIDTH else None,
        dropout=dropout,
    )
    model.load_state_dict({key: torch.from_numpy(np.ascontiguousarray(array)) for key, array in state.items()})
    return model


def to_state(model: TextEncoder) -> State:
    return {key: value.detach().float().cpu().numpy().copy() for key, value in model.state_dict().items()}


def interpolate(first: Mapping[str, Array], second: Mapping[str, Array], share: float) -> State:
    """`share` of the second state, the rest of the first."""
    return {key: ((1 - share) * first[key] + share * second[key]).astype(np.float32) for key in first}


def student_state(teacher: Mapping[str, Array], word_counts: Array, positions: int) -> State:
    """Every other layer, and word vectors as the product of two thinner matrices, frequent words most exact."""
    words = teacher["words.weight"].astype(np.float64)
    weight = np.sqrt(word_counts + 1.0)[:, None]
    _, _, right = np.linalg.svd(weight * words, full_matrices=False)
    basis = right[:STUDENT_RANK]
    # Both factors get the same size, so that one learning rate suits both.
    size = math.sqrt(float(np.linalg.norm(words @ basis.T, axis=1).mean()) / math.sqrt(STUDENT_RANK))
    state = {
        "words.weight": words @ basis.T / size,
        "projection.weight": basis.T * size,
        "positions.weight": teacher["positions.weight"][:positions],
        "embedding_norm.weight": teacher["embedding_norm.weight"],
        "embedding_norm.bias": teacher["embedding_norm.bias"],
    }
    for ours, theirs in enumerate(STUDENT_LAYERS):
        prefix = f"layers.{theirs}."
        state |= {key.replace(prefix, f"layers.{ours}."): own for key, own in teacher.items() if key.startswith(prefix)}
    return {key: np.asarray(array, dtype=np.float32) for key, array in state.items()}


class TokenTable:
    """Token rows on the device; their lengths stay here, so that nothing has to wait for the device."""

    def __init__(self, rows: Rows, device: torch.device) -> None:
        self.tokens = torch.from_numpy(rows.tokens).to(device)
        self.lengths = rows.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def gather(self, rows: Array) -> Tensor:
        """The rows, no wider than the longest of them needs."""
        width = min(-(-int(self.lengths[rows].max()) // 8) * 8, self.tokens.shape[1])
        return self.tokens[moved(rows, self.tokens.device), :width].long()

    def replace(self, rows: Rows) -> None:
        """Put other rows of the same shape in place of all."""
        self.tokens.copy_(torch.from_numpy(rows.tokens))
        self.lengths = rows.lengths


def encode(
    model: TextEncoder, table: TokenTable, rows: Array, pieces: int, change: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Vectors of rows in their order, encoded in pieces of similar length so that little padding is computed."""
    order = np.argsort(table.lengths[rows], kind="stable")
    parts: list[Tensor] = []
    for part in np.array_split(order, pieces):
        if len(part):
            tokens = table.gather(rows[part])
            parts.append(model(change(tokens) if change is not None else tokens))
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return torch.cat(parts)[moved(back, model.device)]


@torch.no_grad()
def encode_all(model: TextEncoder, table: TokenTable, rows: Array | None = None, *, exact: bool = False) -> Tensor:
    """Vectors of many rows, without learning; in 16 bits unless `exact`."""
    was_training = model.training
    model.eval()
    chosen = np.arange(len(table)) if rows is None else rows
    order = np.argsort(table.lengths[chosen], kind="stable")
    vectors = torch.empty((len(chosen), WIDTH), device=model.device)
    with autocast(model.device, enabled=not exact):
        for part in _token_slices(table.lengths[chosen][order], MOST_TOKENS[model.device.type]):
            own = order[part]
            vectors[moved(own, model.device)] = model(table.gather(chosen[own])).float()
    model.train(was_training)
    return vectors


def moved(array: Array, device: torch.device) -> Tensor:
    """A small array on the device, without waiting for what the device is still doing."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


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
