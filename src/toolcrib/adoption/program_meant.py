"""The program a person means in their shell, written so that it is found from anywhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolcrib.clients.machine import is_there
from toolcrib.config.paths import expanded
from toolcrib.config.programs import names_a_file

# What marks the folder of an environment that a shell has to activate.
_MARKS = ("pyvenv.cfg", "conda-meta")


def words_meant(words: Sequence[str], folder: Path) -> list[str]:
    """The arguments as they are, but for files that are meant from here: a client would look for them in its own folder.

    A folder stays as it is written: `.` may well mean the one that the client works in.
    """
    return [str((folder / word).absolute()) if _is_file_here(word, folder) else word for word in words]


def _is_file_here(word: str, folder: Path) -> bool:
    has_a_form = "." in word or "/" in word or os.sep in word
    return has_a_form and not word.startswith(("-", "~", "/")) and is_there(here := folder / word) and here.is_file()


def program_meant(command: str, env: Mapping[str, str], folder: Path) -> str:
    """The command as it is, unless only this shell would find it: a path from here, or a program of an environment.

    Other programs keep their plain name: it stays true when they are updated or move.
    """
    if names_a_file(command):
        here = folder / expanded(command)
        return str(here.absolute()) if is_there(here) and here.is_file() else command
    found = shutil.which(command, path=env.get("PATH", os.defpath))
    if found and any((Path(found).absolute().parent.parent / mark).exists() for mark in _MARKS):
        return str(Path(found).absolute())
    return command
