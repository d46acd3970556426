from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.host.shared_engine import SharedWorkshop


@pytest.fixture
def shared(tmp_path: Path, process_environment: dict[str, str]) -> Iterator[SharedWorkshop]:
    """A home whose clients share one engine; whatever a test does, no process and no socket of it may be left."""
    # The path of a socket must be short, and those of pytest are not.
    with tempfile.TemporaryDirectory(prefix="tc") as home:
        shop = SharedWorkshop(tmp_path, {**process_environment, "TOOLCRIB_HOME": home})
        try:
            yield shop
            shop.end_engines()
            assert not shop.left_behind()
        finally:
            shop.kill_all()


@pytest.fixture
def homes(tmp_path: Path, process_environment: dict[str, str]) -> Iterator[dict[str, SharedWorkshop]]:
    """Two machines by their names; no process of either may be left."""
    with ExitStack() as held:
        shops = {}
        for name in ("kitchen", "study"):
            home = held.enter_context(tempfile.TemporaryDirectory(prefix="tc"))
            (tmp_path / name).mkdir()
            shops[name] = SharedWorkshop(tmp_path / name, {**process_environment, "TOOLCRIB_HOME": home})
        try:
            yield shops
            for shop in shops.values():
                shop.end_engines()
                assert not shop.left_behind()
        finally:
            for shop in shops.values():
                shop.kill_all()
