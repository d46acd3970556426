"""The command line: parse, then load only the command that was asked for.

Nothing but argparse is imported here, so that help and a usage error come at once.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from toolcrib.cli import (
    capability_parsers,
    gateway_parsers,
    moving_parsers,
    peer_parsers,
    server_parsers,
    token_parsers,
    tool_parsers,
)
from toolcrib.cli.exits import INTERRUPTED, OK, USAGE
from toolcrib.cli.grouped_help import GroupedParser
from toolcrib.cli.parser import Commands, Parser, UsageError, add_common, add_profile
from toolcrib.version import VERSION

# What the completion scripts call: the words typed so far follow, the last one being completed.
COMPLETE = "__complete"
GARBAGE_THRESHOLD = 20_000

# As help shows them: group by group, each in alphabetical order.
_GROUPS: dict[str, tuple[Callable[[Commands], None], ...]] = {
    "find and run tools": (
        tool_parsers.add_execute,
        tool_parsers.add_inspect,
        tool_parsers.add_list,
        tool_parsers.add_search,
        tool_parsers.add_tools,
    ),
    "servers": (
        moving_parsers.add_add,
        capability_parsers.add_approvals,
        moving_parsers.add_disable,
        server_parsers.add_discover,
        server_parsers.add_doctor,
        moving_parsers.add_enable,
        server_parsers.add_login,
        server_parsers.add_logout,
        server_parsers.add_logs,
        peer_parsers.add_peers,
        server_parsers.add_registry,
        moving_parsers.add_remove,
        server_parsers.add_warm,
    ),
    "AI clients": (
        moving_parsers.add_adopt,
        moving_parsers.add_connect,
        moving_parsers.add_release,
    ),
    "the gateway": (
        gateway_parsers.add_audit,
        gateway_parsers.add_calls,
        gateway_parsers.add_completion,
        gateway_parsers.add_config,
        gateway_parsers.add_engine,
        gateway_parsers.add_serve,
        gateway_parsers.add_settings,
        gateway_parsers.add_stats,
        token_parsers.add_token,
        gateway_parsers.add_trust,
    ),
    "types and capabilities": (
        capability_parsers.add_capabilities,
        tool_parsers.add_types,
    ),
}
_FIRST_STEPS = """\
`%(prog)s adopt` moves the servers of your AI clients into Toolcrib: it shows its plan and asks first.
`%(prog)s COMMAND --help` shows how one command is used."""


def main(arguments: Sequence[str] | None = None, *, prog: str = "toolcrib") -> int:
    """Run one command; the exit code is the answer."""
    given = _without_help_command(list(sys.argv[1:] if arguments is None else arguments))
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
    parser = GroupedParser(
        prog,
        usage="%(prog)s COMMAND [options]",
        description="One MCP server in front of all your MCP servers.",
        epilog=_FIRST_STEPS,
    )
    parser.add_argument("--version", action="version", version=f"toolcrib {VERSION}", help="show the version")
    add_common(parser, verbose=0, quiet=False, color="auto", config=None)
    add_profile(parser, default="")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog=prog, parser_class=Parser)
    for title, adders in _GROUPS.items():
        known = len(commands.choices)
        for add in adders:
            add(commands)
        parser.groups[title] = list(commands.choices)[known:]
    return parser


def _without_help_command(given: list[str]) -> list[str]:
    """`toolcrib help list` is what people try first; it means `toolcrib list --help`."""
    return [*given[1:], "--help"] if given[:1] == ["help"] else given


def _parsed(parser: Parser, given: list[str]) -> argparse.Namespace | None:
    """The options; None where there is nothing to run and help was shown instead."""
    options = parser.parse_args(given)
    if options.command in (None, "serve"):
        _check_profiles(parser, given)
    if options.command is not None:
        if options.profile and options.command != "serve":
            raise UsageError(parser, "--profile is for `serve`: your own commands see everything")
        return options
    if sys.stdin is None or sys.stdin.isatty():
        parser.print_help()
        return None
    # A client that starts us with a pipe wants a server: `uvx toolcrib` is a whole client entry.
    return parser.parse_args([*given, "serve"])


def _check_profiles(parser: Parser, given: Sequence[str]) -> None:
    """A profile takes rights away, so one that got lost on the way, as `$UNSET` does, must not go unnoticed."""
    parts = [(word.partition("="), following) for word, following in zip(given, [*given, ""][1:], strict=True)]
    named = [value if is_joined else following for (name, is_joined, value), following in parts if name == "--profile"]
    if not all(named):
        raise UsageError(parser, "--profile is empty: name a profile, or leave it out")
    if len(named) > 1:
        raise UsageError(parser, "--profile is there twice, and a client has one profile")


def _refused(error: UsageError, *, as_json: bool) -> int:
    if as_json:
        body = import_module("toolcrib.cli.output").failure("VALIDATION_ERROR", str(error), hint=error.hint)
        print(import_module("json").dumps(body, indent=2))
    # Loaded only now; the words may be foreign, and are cleaned and wrapped like everything else.
    err = import_module("toolcrib.cli.terminal").Terminal.of(sys.stderr, "never")
    error.parser.print_usage(sys.stderr)
    err.paragraph(f"{error.parser.prog}: {error}")
    if error.hint:
        err.paragraph(error.hint)
    return USAGE
