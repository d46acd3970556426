"""A user's machine: the folders in which AI clients keep their files."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_MOST_FILES = 64


@dataclass(frozen=True, slots=True)
class Machine:
    """A user's home, environment and platform; everything else follows from them."""

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    system: str = sys.platform

    @property
    def app_config(self) -> Path:
        """The folder in which desktop programs keep their settings."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return self.named_by("APPDATA", self.home / "AppData" / "Roaming")
        return self.dot_config

    @property
    def local_app_data(self) -> Path:
        return self.named_by("LOCALAPPDATA", self.home / "AppData" / "Local")

    @property
    def dot_config(self) -> Path:
        """The folder in which programs of the command line keep their settings, on a Mac too."""
        return self.named_by("XDG_CONFIG_HOME", self.home / ".config")

    def named_by(self, variable: str, otherwise: Path) -> Path:
        """The path an environment variable names, where it is set."""
        named = self.env.get(variable)
        return Path(named) if named else otherwise

    def editor_user(self, editor: str = "Code") -> Path:
        """The user folder of VS Code or one of its relatives."""
        return self.app_config / editor / "User"


Places = tuple[Path, ...]
PlacesOn = Callable[[Machine], Places]


def nowhere(_: Machine) -> Places:
    return ()


def in_home(*files: str) -> PlacesOn:
    """These files of the user's home, which are the same on every platform."""
    return lambda machine: tuple(machine.home / file for file in files)


def found_in(folder: Path, pattern: str) -> Places:
    """Files of a folder whose names nobody knows beforehand, in a stable order and not without end."""
    try:
        return tuple(sorted(itertools.islice(folder.glob(pattern), _MOST_FILES)))
    except OSError:
        return ()


def is_there(path: Path) -> bool:
    """Whether something of that name can be seen; a folder that may not be entered hides what is in it."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
