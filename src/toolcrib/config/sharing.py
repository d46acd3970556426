"""Which servers clients may share, and whether the folder of a client matters to one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import cache

from toolcrib.config.bridges import program_name, without_shell
from toolcrib.config.entries import is_web_address
from toolcrib.config.known_packages import BRIDGES, IGNORE_THEIR_FOLDER, KEEP_A_SESSION
from toolcrib.config.package_names import CONTAINER_PROGRAMS, container_words, names_run_by, package_names
from toolcrib.config.programs import names_a_file
from toolcrib.model.server import ServerSpec, StdioLaunch

# `./data`, `..`, `src=./data`, `.env`; a path without a dot can't be told from any other word.
_RELATIVE_PATH = re.compile(r"(?:^|[=,:])(?:\.{1,2}(?:$|[/\\,:])|\.env\b)")
# The same where no other meaning is likely: `--filter=.` is none.
_RELATIVE_WORD = re.compile(r"(?:^|[=,:])\.{1,2}[/\\]|(?:^|=)\.\.$|^\.$")
_FILE_OPTIONS = ("--env-file", "--cidfile", "--label-file")


def is_private(spec: ServerSpec, stateful: Iterable[str]) -> bool:
    """Whether each session gets a process of its own; `stateful` are more servers, by name or package, that need one."""
    if spec.share != "auto":
        return spec.share == "never"
    names = package_names(spec.launch) if isinstance(spec.launch, StdioLaunch) else []
    return _is_listed(names, KEEP_A_SESSION) or _is_listed([spec.name, *names], stateful)


def minds_folder(spec: ServerSpec) -> bool:
    """Whether a process of this server may do something else where it is started in another folder."""
    launch = spec.launch
    if not isinstance(launch, StdioLaunch) or launch.cwd:
        return False
    launch = without_shell(launch)
    if _is_relative_file(launch.command):
        return True
    if spec.share == "always":
        return False
    given = (*launch.args, *launch.env.values())
    return any(map(_RELATIVE_PATH.search, given)) or not _is_known_not_to(launch)


def relative_paths(launch: StdioLaunch) -> list[str]:
    """Words of the command line that name another file in another folder."""
    command = [launch.command] if _is_relative_file(launch.command) else []
    return command + [word for word in launch.args if _RELATIVE_WORD.search(word)]


def _is_known_not_to(launch: StdioLaunch) -> bool:
    program = program_name(launch.command)
    if program in CONTAINER_PROGRAMS:
        options, image = container_words(launch.args)
        return bool(image) and not _names_relative_file(options)
    if program == "uv" and "tool" not in launch.args:
        return False  # `uv run` runs what the project in its folder installs
    names = set(names_run_by((launch.command, *launch.args)))
    return not names.isdisjoint(IGNORE_THEIR_FOLDER) or (
        not names.isdisjoint(BRIDGES) and any(map(is_web_address, launch.args))
    )


def _is_relative_file(command: str) -> bool:
    return names_a_file(command) and not re.match(r"[~$/\\]|[A-Za-z]:", command)


def _names_relative_file(options: tuple[str, ...]) -> bool:
    """Whether a container is given a file of the folder that docker is started in."""
    pairs = zip(options, (*options[1:], ""), strict=True)
    files = (word.partition("=")[2] or following for word, following in pairs if word.startswith(_FILE_OPTIONS))
    return any(not re.match(r"[~$/\\]|[A-Za-z]:", file) for file in files)


def _is_listed(names: Iterable[str], patterns: Iterable[str]) -> bool:
    listed = _any_of(tuple(patterns))
    return any(listed.fullmatch(name.lower()) for name in names)


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    # As one expression: there may be a thousand servers, and a hundred names to compare each with.
    return re.compile("|".join(translate(pattern.lower()) for pattern in patterns) or "(?!)")
