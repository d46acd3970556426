"""Where the program of a command lies, looked for as a process with those variables in that folder would."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from toolcrib.config.paths import working_folder


def located(command: str, env: Mapping[str, str], folder: str | None, mode: int = os.F_OK | os.X_OK) -> str | None:
    """The file that a command means; None where there is none that may be used like that."""
    start = working_folder() / (folder or "")
    sought = str(start / command) if names_a_file(command) else command
    found = shutil.which(sought, mode=mode, path=_search_path(env, start))
    return None if found is None else str(Path(found).absolute())


def names_a_file(command: str) -> bool:
    """Whether a command is a path, and not a name that is looked up on PATH."""
    return os.sep in command or bool(os.altsep and os.altsep in command)


def _search_path(env: Mapping[str, str], start: Path) -> str:
    if sys.platform == "win32":
        env = {name.upper(): value for name, value in env.items()}
    path = env.get("PATH", os.defpath)
    # A relative place, and an empty one between others, are meant from the folder of the process.
    return os.pathsep.join(str(start / place) for place in path.split(os.pathsep)) if path else ""
