"""Text to vectors: what means the same lies close together."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from toolcrib.errors import WeightsUnreadable
from toolcrib.search.array_types import Floats
from toolcrib.search.arrays_file import ArraysFile, FileDamaged
from toolcrib.search.tokenizer import Tokenizer
from toolcrib.search.transformer import Transformer, unit

SHIPPED_WEIGHTS = Path(__file__).parent / "weights" / "encoder.safetensors"

# Larger batches are no faster on one core, and hold more memory.
_BATCH_PIECES = 128


class Encoder:
    """A small text encoder; safe to use from several threads."""

    def __init__(
        self, tokenizer: Tokenizer, transformer: Transformer, identity: str, asking: Floats | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._transformer = transformer
        self._asking = asking
        self.identity = identity

    @classmethod
    def load(cls, path: Path | None = None) -> Encoder:
        """The encoder in a weights file, by default the one that ships with Toolcrib."""
        place = path or SHIPPED_WEIGHTS
        try:
            weights = ArraysFile.open(place)
            vocabulary = zlib.decompress(weights.arrays["vocabulary"].tobytes()).decode().split("\n")
            heads, layers = int(weights.notes["heads"]), int(weights.notes["layers"])
            transformer = Transformer(weights.arrays, heads=heads, layers=layers)
            asking = weights.arrays.get("asking")
            moves = None if asking is None else asking.astype(np.float32)
            return cls(Tokenizer(vocabulary), transformer, weights.notes["identity"], moves)
        except OSError as error:
            raise WeightsUnreadable(place, error.strerror or str(error)) from error
        except FileDamaged as error:
            raise WeightsUnreadable(place, str(error)) from error
        except (KeyError, ValueError, zlib.error) as error:
            raise WeightsUnreadable(place, "something is missing in it") from error

    @classmethod
    def shipped(cls) -> Encoder:
        """The encoder that ships with Toolcrib, the same one for everybody."""
        return _shipped()

    @property
    def whole_words(self) -> Sequence[str]:
        """The words that are one piece, the most common first."""
        return self._tokenizer.whole_words

    def has_word(self, word: str) -> bool:
        """Whether a word is one piece."""
        return self._tokenizer.has(word)

    @property
    def dimensions(self) -> int:
        return self._transformer.dimensions

    def encode(self, texts: Sequence[str]) -> Floats:
        """One unit vector a text, in their order; of a long text only the beginning counts."""
        pieces = [self._tokenizer.encode(text, self._transformer.max_pieces) for text in texts]
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for batch in _batches([len(own) for own in pieces]):
            vectors[batch] = self._vectors([pieces[number] for number in batch])
        return vectors

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """The same for queries, which are moved towards the tools that they need."""
        vectors = self.encode(texts)
        return vectors if self._asking is None else unit(vectors @ self._asking)

    def _vectors(self, pieces: Sequence[Sequence[int]]) -> Floats:
        lengths = np.array([len(own) for own in pieces])
        padded = np.full((len(pieces), lengths.max()), self._tokenizer.padding, dtype=np.int32)
        for row, own in zip(padded, pieces, strict=True):
            row[: len(own)] = own
        return self._transformer(padded, lengths)


@lru_cache(maxsize=1)
def _shipped() -> Encoder:
    return Encoder.load()


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Numbers of texts of about equal length, so that little padding is computed."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[number] > _BATCH_PIECES:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
