"""`make clients`: Toolcrib with the real AI clients; apart from `make test`, since the downloads are large."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.sandbox import Sandbox


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    made = Sandbox(tmp_path / "home")
    made.folder.mkdir(parents=True)
    yield made
    made.toolcrib("engine", "stop")
