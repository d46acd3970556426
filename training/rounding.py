"""Four bits a weight: sixteen evenly spaced values a row, as far apart as suits weights that spread like a bell."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# The step between values, as a share of a row's root mean square, that loses least of a normal distribution.
STEP = 0.335
LOWEST, HIGHEST = -8, 7


def rounded(weight: Tensor) -> Tensor:
    """Each row of a matrix as four bits would keep it."""
    step = STEP * weight.detach().square().mean(dim=1, keepdim=True).sqrt().clamp(min=1e-12)
    return ((weight / step).floor().clamp(LOWEST, HIGHEST) + 0.5) * step


def half_bytes(weight: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The same for the file that ships: numbers from 0 to 15, and the step of each row."""
    values = torch.from_numpy(np.ascontiguousarray(weight, dtype=np.float32))
    step = STEP * values.square().mean(dim=1).sqrt().clamp(min=1e-12)
    codes = (values / step[:, None]).floor().clamp(LOWEST, HIGHEST) - LOWEST
    return codes.to(torch.uint8).numpy(), step.numpy()
