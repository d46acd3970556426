from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.cli.machine import CONFIG, TOOLS, Machine


@pytest.fixture
def machine(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A machine with nothing on it."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    root, ours = logging.getLogger(), logging.getLogger("toolcrib")
    handlers, level = root.handlers[:], ours.level
    yield Machine(capsys)
    root.handlers[:] = handlers
    ours.setLevel(level)


@pytest.fixture
def seeded(machine: Machine) -> Machine:
    """Three servers: two were read, one could not be; none of them can be started."""
    machine.configure(CONFIG)
    machine.fill(TOOLS, failed={"database": "the connection was refused"})
    return machine
