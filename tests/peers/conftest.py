"""Hosts for the tests of peers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.host_machines import Neighbourhood, neighbourhood


@pytest.fixture
def network(tmp_path: Path, process_environment: dict[str, str]) -> Iterator[Neighbourhood]:
    """Four hosts on one network; programs on them are ended with the test."""
    with neighbourhood(4, tmp_path, process_environment) as made:
        yield made
