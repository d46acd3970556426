"""One command from its options to its exit code."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from importlib import import_module

from toolcrib.cli import exits
from toolcrib.cli.persons_only import require_person
from toolcrib.cli.surroundings import around
from toolcrib.errors import ToolcribError
from toolcrib.telemetry.logs import log_to_stderr

_log = logging.getLogger(__name__)

_EXITS = {
    "CONFIGURATION_ERROR": exits.CONFIGURATION,
    "SERVER_NOT_FOUND": exits.NOT_FOUND,
    "TOOL_NOT_FOUND": exits.NOT_FOUND,
    "NOT_IN_REGISTRY": exits.NOT_FOUND,
    "APPROVAL_NOT_FOUND": exits.NOT_FOUND,
    "PEER_NOT_FOUND": exits.NOT_FOUND,
    "TOKEN_NOT_FOUND": exits.NOT_FOUND,
    "CAPABILITY_NOT_FOUND": exits.NOT_FOUND,
    "TOOL_DISABLED": exits.DISABLED,
    "TOOL_VALIDATION_ERROR": exits.USAGE,
    "VALIDATION_ERROR": exits.USAGE,
    "RTFS_ERROR": exits.USAGE,
}
# What these warn of is in the command's own answer or progress.
_TOLD_ANYWAY = ("toolcrib.upstream", "toolcrib.discovery", "toolcrib.limits")


def run_command(options: argparse.Namespace) -> int:
    """Load the command and run it; whatever it raises that a person can act on becomes words and an exit code."""
    _set_up_log(options)
    try:
        return _flushed(answered(options))
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter would complain once more at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.PIPE_CLOSED


def answered(options: argparse.Namespace) -> int:
    """The exit code of a command; only a reader that went away is raised."""
    command: Callable[[argparse.Namespace], int] = import_module(f"toolcrib.cli.{options.module}").run
    try:
        require_person(options, around(options).env)
        return int(command(options))
    except ToolcribError as error:
        _tell(options, error)
        return exit_of(error.code)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last place where it can be told in words
        _log.debug("where it failed", exc_info=error)
        _tell(options, _unforeseen(error))
        return exits.FAILED


def exit_of(code: str) -> int:
    """The exit code for an error; any other error is a failure of the work itself."""
    return _EXITS.get(code, exits.FAILED)


def _tell(options: argparse.Namespace, error: ToolcribError) -> None:
    # Loaded only now: a server on standard input and output prints nothing else.
    import_module("toolcrib.cli.output").Output.of(options).error(error)


def _unforeseen(error: Exception) -> ToolcribError:
    return ToolcribError(
        f"this command failed in a way that nobody foresaw ({type(error).__name__}: {error})",
        hint="This is a mistake in Toolcrib. Please report it, with what the same command prints with -vv.",
    )


def _flushed(code: int) -> int:
    sys.stdout.flush()
    return code


def _set_up_log(options: argparse.Namespace) -> None:
    if options.module == "serve":
        return  # It runs for days and has nobody to answer to: its log is all it says, and it sets that up itself.
    log_to_stderr(verbose=options.verbose, quiet=options.quiet, env=os.environ)
    if not options.verbose:
        for name in _TOLD_ANYWAY:
            logging.getLogger(name).setLevel(logging.ERROR)
