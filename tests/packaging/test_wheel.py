"""What is published: built here, installed where there is nothing else, and tried there."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from toolcrib.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "toolcrib"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
CHECK = ROOT / "scripts" / "check_release.py"

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the source archive, by how their names end."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--sdist", "--outdir", str(folder), str(ROOT))
    wheel, sdist = sorted(folder.iterdir(), key=lambda file: file.suffix != ".whl")
    return {"wheel": wheel, "sdist": sdist}


@dataclass(frozen=True)
class Installed:
    """An environment that has nothing but the wheel, and a machine on which nothing was configured."""

    commands: Path
    home: Path

    def run(self, command: str, *words: str) -> str:
        home = {"TOOLCRIB_HOME": str(self.home), "HOME": str(self.home), "USERPROFILE": str(self.home)}
        path = f"{self.commands}{os.pathsep}{os.environ['PATH']}"
        return run(str(self.commands / command), *words, cwd=self.home, more={**home, "PATH": path})


@pytest.fixture(scope="module")
def environment(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own for the wheel, which borrows what it depends on: nothing is downloaded."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True)
    python = str(folder / SCRIPTS / "python")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(built["wheel"]))
    # A path that a .pth file names is searched, and the .pth files in it are not read: the project itself stays unknown.
    borrowed = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (borrowed / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / SCRIPTS


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Installed:
    return Installed(environment, tmp_path)


def run(*command: str, cwd: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    """What the command printed; the test fails with all of it when the command does."""
    foreign = ("PYTHON", "COVERAGE_", "COV_CORE_", "TOOLCRIB_", "VIRTUAL_ENV")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | dict(more or {})
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", env=own, check=False, timeout=150
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check_release(*words: str) -> tuple[int, str]:
    command = [sys.executable, str(CHECK), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


# -- installed


def test_an_installed_wheel_answers_to_both_commands(installed: Installed) -> None:
    assert VERSION in installed.run("toolcrib", "--version")
    assert VERSION in installed.run("anygpt", "--version")


def test_what_answers_is_the_wheel_and_not_the_project(installed: Installed) -> None:
    where = installed.run("python", "-c", "import toolcrib; print(toolcrib.__file__)").strip()

    assert Path(where).is_relative_to(installed.commands.parent)


def test_an_installed_wheel_finds_and_runs_the_tools_of_a_server(installed: Installed) -> None:
    installed.run("toolcrib", "add", "clock", "--", "python", "-m", "toolcrib.demo.clock")
    installed.run("toolcrib", "add", "words", "--", "python", "-m", "toolcrib.demo.words")

    found = json.loads(installed.run("toolcrib", "search", "what time is it in Tokyo", "--json"))
    told = json.loads(installed.run("toolcrib", "execute", "clock", "current_time", "timezone=Asia/Tokyo", "--json"))

    assert (found["results"][0]["server"], found["results"][0]["tool"]) == ("clock", "current_time")
    assert told["success"] is True
    assert "+09:00" in json.dumps(told["result"])


# -- what is in it


def test_the_wheel_holds_every_file_of_the_package(built: dict[str, Path]) -> None:
    expected = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    held = set(ZipFile(built["wheel"]).namelist())

    assert expected - held == set()
    assert "toolcrib/py.typed" in held
    assert any(name.startswith("toolcrib/storage/migrations/") and name.endswith(".sql") for name in held)


def required(package: str) -> set[str]:
    """The names of what a package always needs."""
    lines = [line for line in importlib.metadata.requires(package) or () if "extra ==" not in line]
    return {normal(name) for line in lines for name in re.findall(r"^[\w.-]+", line)}


def normal(name: str) -> str:
    """A package has one name, in several spellings."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_that_is_imported_is_declared_or_comes_with_what_is() -> None:
    """The environment above borrows what happens to be here; elsewhere a package that nobody asks for would be missing."""
    imported = {
        name
        for file in PACKAGE.rglob("*.py")
        for name in re.findall(r"^\s*(?:from|import) (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    owners = importlib.metadata.packages_distributions()
    foreign = {normal(owners[name][0]) for name in imported if name in owners and name != "toolcrib"}
    declared = required("toolcrib")
    brought = {name for package in declared for name in required(package)}

    assert len(foreign) > 10
    # Only whoever asked for the extra gets it, and only then it is imported.
    assert foreign - declared - brought == {"keyring"} & foreign


# -- the release


def test_what_names_the_version_agrees_and_what_was_built_is_complete(built: dict[str, Path]) -> None:
    assert check_release(*map(str, built.values())) == (0, f"Version {VERSION}: everything agrees.\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files that name the version, of a release that is ready."""
    (tmp_path / "src" / "toolcrib").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "toolcrib" / "version.py").write_text('VERSION = "1.2.3"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (2027-01-31)\n\n- All of it.\n", encoding="utf-8")
    return tmp_path


def test_a_release_that_is_ready_may_be_tagged(project: Path) -> None:
    assert check_release("--root", str(project), "--tag", "v1.2.3")[0] == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("src/toolcrib/version.py", "1.2.3", "1.2.4", "says 1.2.4 and the newest heading of CHANGELOG.md says 1.2.3"),
        ("src/toolcrib/version.py", "1.2.3", "one", "write it as 1.2.3"),
        ("pyproject.toml", 'dynamic = ["version"]', 'version = "1.2.3"', "names a version of its own"),
        (
            "CHANGELOG.md",
            "## 1.2.3",
            "## Unreleased\n\n- More.\n\n## 1.2.3",
            'first heading of CHANGELOG.md is "Unreleased"',
        ),
        ("CHANGELOG.md", "(2027-01-31)", "(not released yet)", "a release starts with"),
    ],
)
def test_a_release_that_is_not_ready_is_refused_with_the_reason(
    project: Path, file: str, old: str, new: str, said: str
) -> None:
    place = project / file
    place.write_text(place.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    code, told = check_release("--root", str(project), "--tag", "v1.2.3")

    assert code == 1
    assert said in told


def test_another_tag_than_the_version_is_refused(project: Path) -> None:
    code, told = check_release("--root", str(project), "--tag", "1.2.3")

    assert (code, "the tag has to be v1.2.3" in told) == (1, True)


def test_what_was_built_from_something_else_is_refused(project: Path, built: dict[str, Path]) -> None:
    code, told = check_release("--root", str(project), *map(str, built.values()))

    assert code == 1
    assert f"{built['wheel'].name} is not of version 1.2.3" in told
    assert f"{built['sdist'].name} is not of version 1.2.3" in told
