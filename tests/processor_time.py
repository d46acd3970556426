"""A bound on what some work costs, for what must not take long whatever it is given."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# While coverage is measured each line takes some three times as long.
_SLOWER_WHEN_TRACED = 4


@contextmanager
def within(seconds: float = 1.0) -> Iterator[None]:
    """Of the processor's time: what else this machine does meanwhile does not count."""
    allowed = seconds * (1 if sys.gettrace() is None else _SLOWER_WHEN_TRACED)
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < allowed, f"took {took:.2f} s of {allowed:g}"
