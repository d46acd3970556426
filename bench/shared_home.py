"""A home whose clients share one engine, which ends with the measurement."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.driver import toolcrib_environment
from tests.host.shared_engine import SharedWorkshop


@contextmanager
def shared_home() -> Iterator[SharedWorkshop]:
    """An empty home with a short name, since the path of a socket must be short."""
    with tempfile.TemporaryDirectory(prefix="tc") as home, tempfile.TemporaryDirectory(prefix="tcw") as work:
        shop = SharedWorkshop(Path(work), toolcrib_environment(Path(home)))
        try:
            yield shop
            shop.end_engines()
        finally:
            shop.kill_all()
