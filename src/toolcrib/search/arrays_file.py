"""Named arrays in one file of the safetensors format, mapped into memory rather than read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_TYPES: Mapping[str, np.dtype[Any]] = {
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "U32": np.dtype(np.uint32),
    "U64": np.dtype(np.uint64),
    "F16": np.dtype(np.float16),
    "F32": np.dtype(np.float32),
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_LENGTH_BYTES = 8
# The header's length and the header together are a multiple of this, so every number lies where its size wants it.
_ALIGNMENT = 64


class FileDamaged(Exception):
    """Not a file of arrays, or cut short; the text says which."""


@dataclass(frozen=True, slots=True)
class ArraysFile:
    """Arrays by name, and what the file says about itself."""

    arrays: Mapping[str, Array]
    notes: Mapping[str, str]

    @classmethod
    def open(cls, path: Path) -> ArraysFile:
        """Map a file; raises `FileDamaged` or `OSError` for one that is not what it should be."""
        try:
            # Copy on write: who changes an array changes it for this process only.
            content = np.memmap(path, dtype=np.uint8, mode="c")
            start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES].tobytes(), "little")
            header = json.loads(content[_LENGTH_BYTES:start].tobytes())
            notes = dict(header.pop("__metadata__", {}))
            _check_places([entry["data_offsets"] for entry in header.values()], len(content) - start)
            arrays = {name: _array(content[start:], entry) for name, entry in header.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileDamaged("not a file of arrays, or cut short") from error
        return cls(arrays, notes)


def as_bytes(arrays: Mapping[str, Array], notes: Mapping[str, str]) -> bytes:
    """The content of a file that `ArraysFile.open` reads."""
    return b"".join(parts(arrays, notes))


def parts(arrays: Mapping[str, Array], notes: Mapping[str, str]) -> Iterator[bytes]:
    """The same, one part after the other; the widest numbers first, so that all are aligned."""
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(notes)}
    offset = 0
    for name in order:
        array = arrays[name]
        place = [offset, offset + array.nbytes]
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": place}
        offset = place[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(_LENGTH_BYTES + len(text)) % _ALIGNMENT)
    yield len(text).to_bytes(_LENGTH_BYTES, "little") + text
    yield from (arrays[name].tobytes() for name in order)


def _check_places(places: Sequence[tuple[int, int]], size: int) -> None:
    """Arrays lie side by side and fill the file; anything else is a header that was changed."""
    ends = [0, *(last for _, last in sorted(places))]
    if [first for first, _ in sorted(places)] != ends[:-1] or ends[-1] != size:
        raise ValueError("the arrays do not fill the file")


def _array(content: NDArray[np.uint8], entry: Mapping[str, Any]) -> Array:
    first, last = entry["data_offsets"]
    dtype, shape = _TYPES[entry["dtype"]], tuple(entry["shape"])
    if not 0 <= first <= last <= len(content) or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError("an array lies outside the file")
    return np.asarray(content[first:last].view(dtype).reshape(shape))
