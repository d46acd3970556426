"""The program a server entry names, found the way the child itself would find it."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from toolcrib.config.programs import located, names_a_file
from toolcrib.errors import ServerConnectionError


def find_program(server: str, command: str, env: Mapping[str, str], cwd: str | None) -> str:
    """The file to run for `command`, with the child's own PATH and folder; raises ServerConnectionError."""
    if cwd is not None and not Path(cwd).is_dir():
        raise ServerConnectionError(
            f"the working folder {cwd} does not exist", server=server, hint="Correct `cwd` in the server's entry."
        )
    found = located(command, env, cwd)
    if found is not None:
        return found
    if refused := located(command, env, cwd, os.F_OK):
        raise ServerConnectionError(
            f"{refused} may not be executed: permission denied",
            server=server,
            hint="Make the file executable, or name the program that should run it.",
        )
    raise ServerConnectionError(f"the command {command!r} was not found", server=server, hint=_hint_missing(command))


def start_failure(server: str, program: str, problem: OSError | ValueError) -> ServerConnectionError:
    """What to tell a person when the system refused to start `program`, which is there."""
    message = f"{program} could not be started: {getattr(problem, 'strerror', None) or problem}"
    hint = "Check `command`, `args` and `env` in the server's entry."
    if isinstance(problem, FileNotFoundError):
        hint = "The file is there, but the interpreter that its first line names is not installed."
    elif isinstance(problem, OSError) and problem.errno == errno.ENOEXEC:
        hint = "The file is not a program for this machine; a script needs a first line like `#!/usr/bin/env python3`."
    return ServerConnectionError(message, server=server, hint=hint)


def _hint_missing(command: str) -> str:
    if names_a_file(command):
        return "There is no such file; correct `command` in the server's entry."
    return f"{command} was not found on PATH: install it, or give its full path as `command` in the server's entry."
