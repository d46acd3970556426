"""`--without T06` runs the tests with the mitigations of a threat taken away, here and in the processes that tests start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.conftest import workshops
from tests.journeys.stdio_gateway import Workshop
from tests.threats.removers import remove

WITHOUT = "WITHOUT_MITIGATION"
IN_CHILDREN = Path(__file__).with_name("in_children")
ROOT = Path(__file__).parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--without", metavar="T06", help="take the mitigations of this threat, or of this test, away first"
    )


def pytest_configure(config: pytest.Config) -> None:
    # In a run of all tests this file comes too late to add an option, and nothing is taken away then.
    if wanted := config.getoption("--without", default=None):
        remove(wanted)
        os.environ[WITHOUT] = wanted
        os.environ["PYTHONPATH"] = os.pathsep.join([str(IN_CHILDREN), str(ROOT)])


@pytest.fixture
def process_environment(process_environment: dict[str, str]) -> dict[str, str]:
    """As everywhere, with what a child needs to go without the same mitigations."""
    taken = {name: os.environ[name] for name in (WITHOUT, "PYTHONPATH") if WITHOUT in os.environ}
    return process_environment | taken


@pytest.fixture
def workshop(tmp_path: Path, process_environment: dict[str, str]) -> Iterator[Workshop]:
    """A home and a configuration for gateways on stdio, as in the journeys."""
    yield from workshops(tmp_path, process_environment)
