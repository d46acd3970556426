"""`make run` on a machine that has nothing but Python and this folder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the Makefile is for POSIX", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
BOUND_SECONDS = 150.0
DEVELOPMENT_TOOLS = ("pytest", "ruff", "mypy", "lint-imports", "coverage", "hatchling", "pyproject-build")

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What somebody has who downloaded the project."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("Makefile", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder)
    for name in ("requirements", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


# Module scope: made before the test gets a home of its own, so pip still reads the person's settings and cache.
@pytest.fixture(scope="module")
def first_run(folder: Path) -> str:
    return make_run(folder)


def make_run(folder: Path) -> str:
    """What `make run` says until it serves and is stopped by Ctrl+C."""
    said = folder / "said.txt"
    env = {**_environment(), "TOOLCRIB_HOME": str(folder / "home"), "TOOLCRIB_HTTP_PORT": "0"}
    with said.open("wb") as output:
        process = subprocess.Popen(
            ["make", "run"], cwd=folder, env=env, stdout=output, stderr=output, start_new_session=True
        )
    try:
        deadline = time.monotonic() + BOUND_SECONDS
        while "Ctrl+C stops" not in said.read_text("utf-8"):
            assert process.poll() is None, said.read_text("utf-8")
            assert time.monotonic() < deadline, said.read_text("utf-8")
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(30)
    return said.read_text("utf-8")


def _environment() -> dict[str, str]:
    foreign = ("PYTHON", "COVERAGE_", "COV_CORE_", "MAKE", "MFLAGS")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def test_it_says_what_it_does_and_then_serves(first_run: str) -> None:
    steps = [
        "Setting up, once",
        "the packages that Toolcrib needs",
        "Toolcrib itself",
        "Starting the gateway",
        "serves MCP at",
    ]
    places = [first_run.find(step) for step in steps]

    assert -1 not in places, first_run
    assert places == sorted(places)
    assert "clock, words" in first_run


def test_it_installs_no_development_tools(first_run: str, folder: Path) -> None:
    installed = {path.name for path in (folder / ".venv" / "bin").iterdir()}

    assert "toolcrib" in installed
    assert not installed & set(DEVELOPMENT_TOOLS)
    answer = subprocess.run(
        [folder / ".venv" / "bin" / "python", "-m", "pip", "list", "--format=freeze"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    listed = {line.partition("==")[0].lower() for line in answer.splitlines()}
    pinned = re.findall(r"^([\w.-]+)==", (folder / "requirements" / "runtime.txt").read_text("utf-8"), re.MULTILINE)
    assert listed - {name.lower() for name in pinned} <= {"pip", "setuptools", "toolcrib"}


def test_the_second_time_it_only_serves(first_run: str, folder: Path) -> None:
    again = make_run(folder)

    assert "Setting up" not in again
    assert again.startswith("Starting the gateway: .venv/bin/toolcrib serve --http --demo\n")


def test_testing_afterwards_installs_what_it_needs(first_run: str, folder: Path) -> None:
    planned = subprocess.run(
        ["make", "-n", "test"], cwd=folder, env=_environment(), capture_output=True, text=True, timeout=30, check=True
    ).stdout

    assert planned.index("requirements/dev.txt") < planned.index("pytest")
