"""Named arrays in one file of the safetensors format, mapped into memory rather than read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import ToolcribError

_DTYPES = {"I8": np.int8, "U8": np.uint8, "F16": np.float16, "F32": np.float32}
_LENGTH_BYTES = 8


class WeightsUnreadable(ToolcribError):
    """The file that holds the encoder is missing or damaged."""

    code = "WEIGHTS_UNREADABLE"

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"cannot read the search model {path}: {why}", hint="install Toolcrib again")


@dataclass(frozen=True, slots=True)
class Weights:
    """Arrays by name, read-only, and what the file says about itself."""

    arrays: Mapping[str, NDArray[Any]]
    notes: Mapping[str, str]

    @classmethod
    def open(cls, path: Path) -> Weights:
        """Map a file; raises `WeightsUnreadable` for one that is not what it should be."""
        try:
            content = np.memmap(path, dtype=np.uint8, mode="r")
            start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES].tobytes(), "little")
            header = json.loads(content[_LENGTH_BYTES:start].tobytes())
            notes = header.pop("__metadata__", {})
            arrays = {name: _array(content[start:], entry) for name, entry in header.items()}
        except OSError as error:
            raise WeightsUnreadable(path, error.strerror or str(error)) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WeightsUnreadable(path, "not a weights file, or cut short") from error
        return cls(arrays, notes)


def _array(content: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[Any]:
    first, last = entry["data_offsets"]
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    if not 0 <= first <= last <= len(content) or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError("an array lies outside the file")
    return np.asarray(content[first:last].view(dtype).reshape(shape))
