"""The container image without a container: its steps, run in a plain folder, give what it promises."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts import check_image
from tests.cli.machine import WORKSHOP

if sys.platform == "win32":
    pytest.skip("the image is a Linux one", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("programs")
SYSTEM_PATH = "/usr/bin:/bin"

pytestmark = pytest.mark.timeout(300)


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's lines, continued ones joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text("utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def variables() -> dict[str, str]:
    (given,) = [words for kind, words in instructions() if kind == "ENV"]
    return dict(pair.split("=", 1) for pair in given.split())


@dataclass(frozen=True)
class Image:
    """A folder that stands for the root of the image, and what its programs see."""

    root: Path

    def inside(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    @property
    def surroundings(self) -> list[str]:
        """The image's variables, with the folder before every path that begins at the root."""
        rooted = {key: re.sub(r"(?<![\w/])(?=/)", str(self.root), value) for key, value in variables().items()}
        path = rooted["PATH"].replace("$PATH", f"{self.inside('/usr/local/bin')}:{SYSTEM_PATH}")
        return [f"{key}={value}" for key, value in {**rooted, "PATH": path}.items()]

    def command(self, program: str, words: Sequence[str]) -> list[str]:
        return ["env", "-i", *self.surroundings, program, *words]


# Module scope: made before the tests get homes of their own, so pip still reads the person's settings and cache.
@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    image = Image(tmp_path_factory.mktemp("image"))
    source = tmp_path_factory.mktemp("source")
    image.inside("/data").mkdir(mode=0o700)
    for kind, words in instructions():
        if kind == "COPY":
            copy(words, source, image)
        elif kind == "RUN" and "install_image.sh" in words:
            run_step(words, source, image)
        elif kind == "RUN":
            assert words.startswith("useradd "), f"a step that no test runs: {words}"
    return image


def copy(words: str, source: Path, image: Image) -> None:
    """What the build sees is what is copied; Node.js, which another image has, is this machine's."""
    *given, target = words.split()
    if given[0] == "--from=node":
        provide_node(image, given[1], target)
    elif not given[0].startswith("--from="):
        allowed = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        for name in given:
            assert f"!{name}" in allowed, f"{name} is not sent to the build"
            place = source / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(ROOT / name, place)


def provide_node(image: Image, path: str, target: str) -> None:
    node, npx = shutil.which("node"), shutil.which("npx")
    assert node, "tests need Node.js, see docs/development.md"
    assert npx, "tests need npm, see docs/development.md"
    ours = {"/usr/local/bin/node": Path(node), "/usr/local/lib/node_modules/npm": Path(npx).resolve().parents[1]}
    place = image.inside(target) / "node" if target.endswith("/") else image.inside(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(ours[path])


def run_step(words: str, source: Path, image: Image) -> None:
    found = re.fullmatch(r"sh \S*install_image\.sh (\w+) (/\S+)( && rm \S+)?", words)
    assert found is not None, words
    foreign = ("PYTHON", "COVERAGE_", "COV_CORE_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    path = image.inside(found[2])
    path.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["sh", str(source / "scripts" / "install_image.sh"), found[1], str(path)],
        cwd=source,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def npx_server(tmp_path: Path) -> list[str]:
    """A package that npx can start without a network."""
    package = tmp_path / "tiny-npm"
    package.mkdir()
    shutil.copy(PROGRAMS / "tiny_server.js", package / "server.js")
    (package / "server.js").chmod(0o755)
    described = {"name": "tiny-npm", "version": "1.0.0", "bin": {"tiny-npm": "server.js"}}
    (package / "package.json").write_text(json.dumps(described), "utf-8")
    return ["npx", "-y", "--offline", "--package", f"file:{package}", "tiny-npm"]


@pytest.fixture
def uvx_server(tmp_path: Path) -> list[str]:
    """A package that uvx can start without a network."""
    package = tmp_path / "tiny-uv"
    (package / "tiny_uv").mkdir(parents=True)
    shutil.copy(WORKSHOP, package / "tiny_uv" / "workshop.py")
    (package / "tiny_uv" / "__init__.py").write_text(
        "import sys\n\n\ndef main():\n    sys.argv[1:] = ['friendly']\n    import tiny_uv.workshop\n", "utf-8"
    )
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "tiny-uv"\nversion = "1.0.0"\nscripts = {tiny-uv = "tiny_uv:main"}\n',
        "utf-8",
    )
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(package)]
    subprocess.run(build, capture_output=True, timeout=60, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    return ["uvx", "--offline", "--from", str(wheel), "tiny-uv"]


def test_it_has_toolcrib_and_what_starts_servers(image: Image) -> None:
    check_image.check_programs(image.command)


def test_it_serves_a_client_on_pipes(image: Image) -> None:
    check_image.check_stdio(image.command)


def test_servers_of_npm_and_of_pypi_run_in_it(image: Image, npx_server: list[str], uvx_server: list[str]) -> None:
    check_image.check_servers(image.command, npx_server, uvx_server)
    # What they download is kept where the state is, in the volume.
    assert (image.inside("/data") / ".npm").is_dir()
    assert (image.inside("/data") / ".cache" / "uv").is_dir()


def test_a_program_that_is_missing_is_noticed(image: Image) -> None:
    def without_uvx(program: str, words: Sequence[str]) -> list[str]:
        return ["false"] if program == "uvx" else image.command(program, words)

    with pytest.raises(check_image.Failed, match="false"):
        check_image.check_programs(without_uvx)


def test_a_server_that_does_not_run_is_noticed(image: Image, npx_server: list[str]) -> None:
    with pytest.raises(check_image.Failed, match="by-uvx"):
        check_image.check_servers(image.command, npx_server, ["no-such-program"])


# -- the way CI goes


def ci_check(tmp_path: Path, engine: str, **more: str) -> subprocess.CompletedProcess[str]:
    """`make image` where `docker` is this shell script."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "docker"
    script.write_text(f"#!/bin/sh\n{engine}\n", "utf-8")
    script.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{SYSTEM_PATH}", **more}
    command = [sys.executable, str(ROOT / "scripts" / "check_image.py")]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=240, check=False)


def test_without_an_engine_that_runs_nothing_is_built_and_nothing_fails(tmp_path: Path) -> None:
    done = ci_check(tmp_path, "echo cannot connect >&2; exit 1")

    assert done.returncode == 0
    assert done.stdout.startswith("No container engine runs here")


def test_with_an_engine_the_image_is_built_and_started(
    image: Image, tmp_path: Path, npx_server: list[str], uvx_server: list[str]
) -> None:
    asked = tmp_path / "asked.jsonl"
    place = tmp_path / "engine.json"
    # The real packages of the check are not on this machine; those of the test take their names.
    (tmp_path / "named").mkdir()
    for name, words in (("npx", npx_server), ("uvx", uvx_server)):
        shim, real = tmp_path / "named" / name, shutil.which(name, path=path_of(image))
        versions = f'[ "$1" = --version ] && exec "{real}" --version'
        shim.write_text(f'#!/bin/sh\n{versions}\nexec "{real}" {" ".join(words[1:])}\n', "utf-8")
        shim.chmod(0o755)
    ids = tmp_path / "named" / "id"
    ids.write_text("#!/bin/sh\necho 8665\n", "utf-8")
    ids.chmod(0o755)
    seen = ["env", "-i", *image.surroundings, f"PATH={tmp_path / 'named'}:{path_of(image)}"]
    place.write_text(json.dumps({"command": seen, "asked": str(asked), "log": str(tmp_path / "http.txt")}), "utf-8")
    reset(image)

    done = ci_check(
        tmp_path, f'exec "{sys.executable}" "{PROGRAMS / "folder_engine.py"}" "$@"', FOLDER_ENGINE=str(place)
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("The image works: stdio, HTTP, npx and uvx.\n")
    verbs = [json.loads(line)[0] for line in asked.read_text("utf-8").splitlines()]
    assert verbs[:2] == ["info", "build"]
    assert verbs[-3:] == ["run", "port", "stop"]


def test_an_image_that_does_not_work_fails_the_run(image: Image, tmp_path: Path) -> None:
    done = ci_check(tmp_path, 'case $1 in run) echo "no such image"; exit 125;; esac')

    assert done.returncode == 1
    assert "no such image" in done.stderr


def path_of(image: Image) -> str:
    return next(pair.removeprefix("PATH=") for pair in image.surroundings if pair.startswith("PATH="))


def reset(image: Image) -> None:
    """A container starts with an empty volume, a folder keeps what was written."""
    shutil.rmtree(image.inside("/data"))
    image.inside("/data").mkdir(mode=0o700)


def test_ci_goes_that_way() -> None:
    assert "make image" in (ROOT / ".ci" / "run").read_text("utf-8")
    assert "scripts/check_image.py" in (ROOT / "Makefile").read_text("utf-8")


def test_it_runs_as_an_ordinary_user_with_its_state_in_the_volume() -> None:
    kinds = dict(instructions())
    assert kinds["USER"] == "toolcrib"
    assert kinds["VOLUME"] == variables()["HOME"] == variables()["TOOLCRIB_HOME"] == "/data"
    # A file in the working directory would have to be trusted; our own is in the volume.
    assert kinds["WORKDIR"] != kinds["VOLUME"]
    users = [words for kind, words in instructions() if kind == "RUN" and words.startswith("useradd ")]
    assert f"--uid {check_image.USER_ID}" in users[0]


def test_the_container_recipe_serves_on_standard_input_as_an_ordinary_user() -> None:
    recipe = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()

    assert {'ENTRYPOINT ["toolcrib"]', 'CMD ["serve"]', "USER toolcrib"} <= set(recipe)
    assert recipe.index("USER toolcrib") < recipe.index('ENTRYPOINT ["toolcrib"]')
    assert any("docker run -i --rm" in line for line in recipe if line.startswith("#"))
