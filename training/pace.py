"""Time: how much is left, and what learning rate goes with it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import torch


@dataclass
class Clock:
    """Seconds since the program began."""

    started: float = field(default_factory=time.monotonic)

    def __call__(self) -> float:
        return time.monotonic() - self.started


class Stage:
    """A number of steps that ends early when its time is up; the learning rate falls with whichever is nearer."""

    def __init__(self, clock: Clock, *, steps: int, until: float, rate: float, warm_up: int) -> None:
        self._clock, self._steps, self._until = clock, steps, until
        self._rate, self._warm_up = rate, warm_up
        self._began = clock()
        self.step = 0

    @property
    def progress(self) -> float:
        """From 0 to 1, of the steps or of the time."""
        time_share = (self._clock() - self._began) / max(self._until - self._began, 1e-9)
        return min(max(self.step / self._steps, time_share), 1.0)

    @property
    def is_over(self) -> bool:
        return self.progress >= 1.0

    def advance(self, optimizer: torch.optim.Optimizer) -> None:
        """Set the rate for the next step."""
        rate = self._rate * min((self.step + 1) / self._warm_up, 1.0) * 0.5 * (1 + math.cos(math.pi * self.progress))
        for group in optimizer.param_groups:
            group["lr"] = rate
        self.step += 1

    @property
    def seconds_a_step(self) -> float:
        return (self._clock() - self._began) / max(self.step, 1)


def optimizer_of(model: torch.nn.Module, rate: float) -> torch.optim.AdamW:
    """AdamW; biases and norms do not decay."""
    decaying = [value for value in model.parameters() if value.ndim > 1]
    staying = [value for value in model.parameters() if value.ndim <= 1]
    groups = [{"params": decaying, "weight_decay": 0.01}, {"params": staying, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, fused=decaying[0].device.type == "cuda")


def take_step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
