from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.registry import Registry, serve


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serve(Registry()) as running:
        yield running
