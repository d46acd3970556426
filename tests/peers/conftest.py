"""What tests of peers share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.storage.file_lock import file_lock

WAIT_SECONDS = 45.0


@pytest.fixture
def multicast() -> Iterator[None]:
    """The loopback network for one test alone: machines of tests that run beside it would be heard too."""
    with file_lock(Path(tempfile.gettempdir()) / "toolcrib-tests-multicast.lock", wait_seconds=WAIT_SECONDS) as is_ours:
        assert is_ours, f"other tests were on the network for {WAIT_SECONDS:g} s"
        yield
