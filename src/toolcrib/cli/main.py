"""The command line: parse, then load only the command that was asked for.

Nothing but argparse is imported here, so that help and a usage error come at once.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from toolcrib.cli import capability_parsers, gateway_parsers, moving_parsers, server_parsers, tool_parsers
from toolcrib.cli.exits import INTERRUPTED, OK, USAGE
from toolcrib.cli.parser import Commands, Parser, UsageError, add_common
from toolcrib.version import VERSION

# What the completion scripts call: the words typed so far follow, the last one being completed.
COMPLETE = "__complete"
GARBAGE_THRESHOLD = 20_000

# In the order in which help shows them.
_COMMANDS: tuple[Callable[[Commands], None], ...] = (
    tool_parsers.add_list,
    tool_parsers.add_search,
    tool_parsers.add_tools,
    tool_parsers.add_inspect,
    tool_parsers.add_execute,
    gateway_parsers.add_config,
    server_parsers.add_registry,
    server_parsers.add_logs,
    server_parsers.add_doctor,
    tool_parsers.add_types,
    server_parsers.add_discover,
    server_parsers.add_warm,
    gateway_parsers.add_serve,
    gateway_parsers.add_trust,
    gateway_parsers.add_settings,
    gateway_parsers.add_completion,
    moving_parsers.add_moving_commands,
    capability_parsers.add_capability_commands,
)


def main(arguments: Sequence[str] | None = None, *, prog: str = "toolcrib") -> int:
    """Run one command; the exit code is the answer."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Loading a command makes many objects and hardly any garbage: looking for it at the usual rate costs a twentieth.
    gc.set_threshold(GARBAGE_THRESHOLD)
    try:
        if given[:1] == [COMPLETE]:
            return int(import_module("toolcrib.cli.complete").run(given[1:], build_parser(prog)))
        options = _parsed(build_parser(prog), given)
        return OK if options is None else int(import_module("toolcrib.cli.run").run_command(options))
    except UsageError as error:
        return _refused(error, as_json="--json" in given)
    except KeyboardInterrupt:
        return INTERRUPTED


def anygpt(arguments: Sequence[str] | None = None) -> int:
    """`anygpt mcp …`: the same commands under their other name."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["mcp"]:
        return main(given[1:], prog="anygpt mcp")
    parser = Parser("anygpt", description="Toolcrib under its other name: the commands are in the group mcp.")
    parser.add_argument("--version", action="version", version=f"anygpt (toolcrib) {VERSION}")
    parser.add_argument("group", choices=["mcp"], help="anygpt mcp --help shows its commands")
    try:
        parser.parse_args(given)
    except UsageError as error:
        return _refused(error, as_json=False)
    parser.print_help()
    return USAGE


def build_parser(prog: str) -> Parser:
    parser = Parser(prog, description="One MCP server in front of all your MCP servers.")
    parser.add_argument("--version", action="version", version=f"toolcrib {VERSION}")
    add_common(parser, verbose=0, quiet=False, color="auto", config=None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for add in _COMMANDS:
        add(commands)
    return parser


def _parsed(parser: Parser, given: list[str]) -> argparse.Namespace | None:
    """The options; None where there is nothing to run and help was shown instead."""
    options = parser.parse_args(given)
    if options.command is not None:
        return options
    if sys.stdin is None or sys.stdin.isatty():
        parser.print_help()
        return None
    # A client that starts us with a pipe wants a server: `uvx toolcrib` is a whole client entry.
    return parser.parse_args([*given, "serve"])


def _refused(error: UsageError, *, as_json: bool) -> int:
    if as_json:
        body = import_module("toolcrib.cli.output").failure("VALIDATION_ERROR", str(error))
        print(import_module("json").dumps(body, indent=2))
    error.parser.print_usage(sys.stderr)
    print(f"{error.parser.prog}: {error}", file=sys.stderr)
    return USAGE
