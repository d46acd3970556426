from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from toolcrib.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "toolcrib"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"

pytestmark = pytest.mark.timeout(180)


# Module scope: made before the test gets a home of its own, so pip still reads the person's settings and cache.
@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def fresh_install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands folder of an empty environment into which only the wheel was installed."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True)
    commands = folder / SCRIPTS
    pins = ROOT / "requirements" / "runtime.txt"
    run(str(commands / "python"), "-m", "pip", "install", "--quiet", "--constraint", str(pins), str(wheel))
    return commands


def run(*command: str) -> str:
    """What the command printed; the test fails with all of it when the command does."""
    foreign = ("PYTHON", "COVERAGE_", "COV_CORE_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=150)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_an_installed_wheel_answers_to_both_commands(fresh_install: Path):
    assert VERSION in run(str(fresh_install / "toolcrib"), "--version")
    assert VERSION in run(str(fresh_install / "anygpt"), "--version")


def test_the_wheel_holds_every_file_of_the_package(wheel: Path):
    expected = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    held = set(ZipFile(wheel).namelist())

    assert expected - held == set()
    assert "toolcrib/py.typed" in held
    assert any(name.startswith("toolcrib/storage/migrations/") and name.endswith(".sql") for name in held)
