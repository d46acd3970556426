"""The files that a program consists of, where they are not the system's: what it needs to run at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolcrib.config.paths import home_folder
from toolcrib.config.programs import located

Homes = tuple[Path, ...]

_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64")))
_FIRST_LINE_BYTES = 512
_MOST_LINKS = 16
# What a folder has that belongs to one program or one installed language, and to nothing else.
_OWN_FOLDER = ("pyvenv.cfg", "lib/python3*", "lib/node_modules", "lib/ruby", "package.json", "pyproject.toml")
_PYTHON = ("pyvenv.cfg", "lib/python3*")
# An installed language, which no project has inside.
_LANGUAGE = ("lib/python3*/os.py", "lib/node_modules/npm", "lib/ruby/gems")
_FOR_ALL = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108
_PYVENV_HOME = re.compile(r"^\s*home\s*=\s*(.+?)\s*$", re.MULTILINE)


def program_folders(
    program: str,
    args: Sequence[str],
    env: Mapping[str, str],
    folder: str | None = None,
    writable: Sequence[str] = (),
) -> list[str]:
    """Files and folders, those of its interpreter and of the script it is given included; links as they are.

    A folder that has more than the program (a home, `~/.local`) is not among them, only the file in it. What the program may
    write counts as its own words: from there no link and no first line leads to anything but an installed language.
    """
    # An entry may give its server another home; the person's own is none of its folders all the same.
    homes = (Path(env.get("HOME", "/nowhere")), home_folder(os.environ))
    found = [place for part in _parts(program, args, env, folder, writable) for place in part.places(homes)]
    return list(dict.fromkeys(str(place) for place in found if not _is_system(place)))


def what_runs(program: str, env: Mapping[str, str]) -> list[str]:
    """The program and its interpreter under all their names that are not the system's."""
    paths = [Path(program), *_interpreter(Path(program), env)]
    return [str(name) for path in paths if path.exists() for name in _names(path) if not _is_system(name)]


def leads_out(path: str, places: Sequence[str]) -> bool:
    """Whether it is somewhere in one of these places and leads, by a link, to where that place does not reach."""
    real, above = Path(os.path.realpath(path)), [Path(os.path.realpath(folder)) for folder in Path(path).parents]
    return any(
        any(folder.is_relative_to(place) for folder in above) and not real.is_relative_to(place)
        for place in map(os.path.realpath, places)
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A file that the program consists of; with `writable`, what it leads to may be of the server's own making."""

    path: Path
    writable: Sequence[str] = ()

    def places(self, homes: Homes) -> Iterator[Path]:
        found = _of(self.path, homes)
        return (place for place in found if not self.writable or _opens_nothing(place, self.writable))


def _parts(
    program: str, args: Sequence[str], env: Mapping[str, str], folder: str | None, writable: Sequence[str]
) -> Iterator[_Part]:
    """The program, what runs it, and the script that it is given."""
    path = Path(program)
    its_own = _if_written(path, writable)
    yield _Part(path, its_own)
    for interpreter in _interpreter(path, env):
        yield _Part(interpreter, its_own or _if_written(interpreter, writable))
    script = _script(args, folder)
    if script is not None:
        yield _Part(script, _if_written(script, writable))


def _if_written(path: Path, writable: Sequence[str]) -> Sequence[str]:
    """The folders that the server may write, if one of the names of the file is in there."""
    tops = [os.path.realpath(place) for place in writable]
    above = [Path(os.path.realpath(folder)) for name in _names(path) for folder in (name, *name.parents)]
    return writable if any(folder.is_relative_to(top) for folder in above for top in tops) else ()


def _opens_nothing(place: Path, writable: Sequence[str]) -> bool:
    """Whether to show it gives a server nothing that it could wish for: what it may write, or an installed language."""
    real = Path(os.path.realpath(place))
    is_its_own = any(real.is_relative_to(os.path.realpath(top)) for top in writable)
    return is_its_own or _has_one_of(_LANGUAGE, real)


def _script(args: Sequence[str], folder: str | None) -> Path | None:
    """The first argument that is a file."""
    words = (Path(folder or "/", word) for word in args if not word.startswith("-"))
    return next((path for path in words if path.is_file()), None)


def _interpreter(program: Path, env: Mapping[str, str]) -> Iterator[Path]:
    """The program that the first line of a script names."""
    try:
        with program.open("rb") as file:
            line = file.readline(_FIRST_LINE_BYTES).decode(errors="replace")
    except OSError:
        return
    words = line[2:].split() if line.startswith("#!") else []
    if words and words[0].endswith("/env"):
        name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        words = [located(name, env, None) or ""] if name else []
    if words and words[0]:
        yield Path(words[0])


def _of(path: Path, homes: Homes) -> Iterator[Path]:
    """The file under each of its names, each with the folder that is its own."""
    for name in _names(path):
        folder = _own_folder(name, homes)
        yield folder or name
        if folder is not None and (folder / "pyvenv.cfg").is_file():
            yield from _base_of(folder, homes)


def _names(path: Path) -> Iterator[Path]:
    """The path and what it leads to, link by link."""
    for _ in range(_MOST_LINKS):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
    real = Path(os.path.realpath(path))
    if real != path:
        yield real


def _base_of(environment: Path, homes: Homes) -> Iterator[Path]:
    """The Python that a virtual environment was made from."""
    try:
        told = _PYVENV_HOME.search((environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return
    for name in _names(Path(told[1]) / "python3") if told is not None else ():
        # The file may be of the program's own making: it leads to a Python, and to nothing else.
        place = _own_folder(name, homes) or name
        if place == name or _has_one_of(_PYTHON, place):
            yield place


def _own_folder(file: Path, homes: Homes) -> Path | None:
    """The nearest folder above that belongs to the program alone; inside packages, the one that has all of them."""
    parts = file.parts
    if "node_modules" in parts:
        packages = Path(*parts[: parts.index("node_modules") + 1])
        return packages.parent if _belongs_to_one(packages.parent, homes) else packages
    for folder in list(file.parents)[:3]:
        if _belongs_to_one(folder, homes):
            return folder
    return None


def _belongs_to_one(folder: Path, homes: Homes) -> bool:
    if any(home.is_relative_to(folder) or folder == home / ".local" for home in homes):
        return False
    return folder not in _FOR_ALL and _has_one_of(_OWN_FOLDER, folder)


def _has_one_of(signs: Sequence[str], folder: Path) -> bool:
    return any(next(folder.glob(sign), None) is not None for sign in signs)


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in _SYSTEM)
