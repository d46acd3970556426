"""The command line: parse, then load only the command that was asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from toolcrib.cli.exits import CONFIGURATION, INTERRUPTED, OK, USAGE
from toolcrib.cli.moving_parsers import add_moving_commands
from toolcrib.errors import ConfigurationError
from toolcrib.version import VERSION


class _Parser(argparse.ArgumentParser):
    """argparse with our exit code for usage errors."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None, *, prog: str = "toolcrib") -> int:
    """Run one command; the exit code is the answer."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(prog)
    options = parser.parse_args(given)
    if options.command is None:
        if sys.stdin is None or sys.stdin.isatty():
            parser.print_help()
            return OK
        # A client that starts us with a pipe wants a server: `uvx toolcrib` is a whole client entry.
        options = parser.parse_args([*given, "serve"])
    command = import_module(f"toolcrib.cli.{options.command}")
    try:
        return int(command.run(options))
    except ConfigurationError as error:
        print(f"{prog}: the configuration can't be used:\n{error.message}", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
        return CONFIGURATION
    except KeyboardInterrupt:
        return INTERRUPTED


def anygpt(arguments: Sequence[str] | None = None) -> int:
    """`anygpt mcp …`: the same commands under their other name."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["mcp"]:
        return main(given[1:], prog="anygpt mcp")
    parser = _Parser("anygpt", description="Toolcrib under its other name: the commands are in the group mcp.")
    parser.add_argument("--version", action="version", version=f"anygpt (toolcrib) {VERSION}")
    parser.add_argument("group", choices=["mcp"], help="anygpt mcp --help shows its commands")
    parser.parse_args(given)
    return USAGE


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = _Parser(prog, description="One MCP server in front of all your MCP servers.")
    parser.add_argument("--version", action="version", version=f"toolcrib {VERSION}")
    parser.add_argument("--config", metavar="FILE", help="use this configuration file")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more on standard error")
    parser.add_argument("-q", "--quiet", action="store_true", help="say only what is wrong")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _add_serve(commands)
    _add_trust(commands)
    _add_settings(commands)
    add_moving_commands(commands)
    return parser


def _add_serve(commands: argparse._SubParsersAction[_Parser]) -> None:
    serve = commands.add_parser(
        "serve",
        help="serve MCP on standard input and output, or with --http over HTTP",
        description="Serve the five meta-tools. `toolcrib settings` lists everything that can be set.",
    )
    serve.add_argument("--http", action="store_true", help="serve Streamable HTTP instead of standard input and output")
    serve.add_argument("--host", help="address to listen on (default: setting http.host)")
    serve.add_argument("--port", type=int, help="port to listen on, 0 for a free one (default: setting http.port)")
    serve.add_argument("--demo", action="store_true", help="with no server configured, offer two harmless demo servers")


def _add_trust(commands: argparse._SubParsersAction[_Parser]) -> None:
    trust = commands.add_parser(
        "trust",
        help="allow a configuration file found in a working directory to be used",
        description="Keep the path and hash of a configuration file, so that it is used when found here. "
        "An edited file must be trusted again.",
    )
    trust.add_argument("file", nargs="?", help="the file (default: the one found in this directory)")
    trust.add_argument("--forget", action="store_true", help="no longer trust it")


def _add_settings(commands: argparse._SubParsersAction[_Parser]) -> None:
    commands.add_parser("settings", help="list every setting with its default, its variable and what it does")
