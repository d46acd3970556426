from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.stdio_gateway import Workshop

LAST_PROCESS_SECONDS = 8.0


@pytest.fixture
def workshop(tmp_path: Path, process_environment: dict[str, str]) -> Iterator[Workshop]:
    """A home and a configuration for gateways on stdio; whatever a test does, no process of it may be left."""
    yield from workshops(tmp_path, process_environment)


def workshops(tmp_path: Path, process_environment: dict[str, str]) -> Iterator[Workshop]:
    """What the fixture is made of, for tests elsewhere."""
    shop = Workshop(tmp_path, process_environment)
    try:
        yield shop
        deadline = time.monotonic() + LAST_PROCESS_SECONDS
        while shop.processes() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not shop.processes(), "a process was left behind"
    finally:
        for pid in shop.processes():
            os.kill(pid, signal.SIGKILL)
