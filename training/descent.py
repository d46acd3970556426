"""Downhill by Adam, with a rate that falls to nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]

MEMORY = 0.9


def descend(
    start: Floats, gradient: Callable[[Floats], Floats], *, steps: int, rate: float, long_memory: float
) -> Floats:
    """Where so many steps lead; `long_memory` is how slowly the size of past slopes is forgotten."""
    values, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for step in range(1, steps + 1):
        slope = gradient(values)
        mean = MEMORY * mean + (1 - MEMORY) * slope
        square = long_memory * square + (1 - long_memory) * slope**2
        size = np.sqrt(square / (1 - long_memory**step)) + 1e-8
        values = values - rate * (1 - step / (steps + 1)) * (mean / (1 - MEMORY**step)) / size
    return values
