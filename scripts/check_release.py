"""Check that everything that names the version agrees, and that what was built holds what it should.

python scripts/check_release.py                    the files of the project
python scripts/check_release.py dist/*             and what was built from them
python scripts/check_release.py --tag v1.2.3 dist/*   and that this is a release: nothing is left under "Unreleased"
"""

from __future__ import annotations

import argparse
import re
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
VERSION_FILE = "src/toolcrib/version.py"
IN_WHEEL = ("toolcrib/py.typed", "toolcrib/cli/main.py", "toolcrib/search/weights/encoder.safetensors")
IN_SDIST = (
    "src/toolcrib/py.typed",
    "docs/security.md",
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE",
    "pyproject.toml",
)
# What is for those who work on the project is in its repository.
NOT_IN_SDIST = ("tests/", "training/", "bench/", "clients/", ".github/", ".ci/")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the project, where it is not this one")
    parser.add_argument("--tag", help="the tag that the release is to have")
    parser.add_argument("built", type=Path, nargs="*", help="wheels and source archives")
    given = parser.parse_args(words)
    version = version_of(given.root)
    problems = [*project_problems(given.root, version)]
    if given.tag is not None:
        problems += release_problems(given.root, version, given.tag)
    for file in given.built:
        problems += wheel_problems(file, version) if file.suffix == ".whl" else sdist_problems(file, version)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"Version {version}: everything agrees.")
    return 1 if problems else 0


def version_of(root: Path) -> str:
    found = re.search(r'^VERSION = "(.+)"$', (root / VERSION_FILE).read_text("utf-8"), re.MULTILINE)
    return found[1] if found else ""


def headings(root: Path) -> list[str]:
    """The headings of the changelog, newest first."""
    return re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)


def project_problems(root: Path, version: str) -> Iterator[str]:
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        yield f"{VERSION_FILE} has the version {version!r}: write it as 1.2.3 or 1.2.3rc1"
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    if "version" in project["project"] or project["tool"]["hatch"]["version"] != {"path": VERSION_FILE}:
        yield f"pyproject.toml names a version of its own: leave it to {VERSION_FILE}"
    newest = next((heading for heading in headings(root) if heading != "Unreleased"), "no version")
    if newest.split()[0] != version:
        yield f"{VERSION_FILE} says {version} and the newest heading of CHANGELOG.md says {newest}"


def release_problems(root: Path, version: str, tag: str) -> Iterator[str]:
    if tag != f"v{version}":
        yield f"the tag is {tag} and the version is {version}: the tag has to be v{version}"
    first = headings(root)[0]
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", first):
        yield f'the first heading of CHANGELOG.md is "{first}": a release starts with "{version} (YYYY-MM-DD)"'


def wheel_problems(file: Path, version: str) -> Iterator[str]:
    with ZipFile(file) as wheel:
        names = set(wheel.namelist())
        metadata = f"toolcrib-{version}.dist-info/METADATA"
        if metadata not in names or f"\nVersion: {version}\n" not in wheel.read(metadata).decode():
            yield f"{file.name} is not of version {version}"
    yield from (f"{file.name} lacks {name}" for name in IN_WHEEL if name not in names)
    foreign = {name.split("/")[0] for name in names} - {"toolcrib", f"toolcrib-{version}.dist-info"}
    yield from (f"{file.name} holds {name}, which is no part of the package" for name in sorted(foreign))


def sdist_problems(file: Path, version: str) -> Iterator[str]:
    top = f"toolcrib-{version}/"
    with tarfile.open(file) as archive:
        names = [name.removeprefix(top) for name in archive.getnames()]
    if any(name.startswith("toolcrib-") for name in names):
        yield f"{file.name} is not of version {version}"
    yield from (f"{file.name} lacks {name}" for name in IN_SDIST if name not in names)
    yield from (f"{file.name} holds {name}" for name in names if name.startswith(NOT_IN_SDIST))


if __name__ == "__main__":
    sys.exit(main())
