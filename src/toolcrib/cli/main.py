"""The command line: parse, then load only the command that was asked for.

Nothing but argparse is imported here, so that help and a usage error come at once.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from toolcrib.cli.capability_parsers import add_capability_commands
from toolcrib.cli.exits import INTERRUPTED, OK, USAGE
from toolcrib.cli.moving_parsers import add_moving_commands
from toolcrib.version import VERSION

DEFAULT_WAIT_SECONDS = 20.0
DEFAULT_LIMIT = 10
DEFAULT_LOG_LINES = 50
SHELLS = ("bash", "zsh", "fish")
# What the completion scripts call: the words typed so far follow, the last one being completed.
COMPLETE = "__complete"
GARBAGE_THRESHOLD = 20_000


class Parser(argparse.ArgumentParser):
    """argparse that leaves it to `main` what a usage error comes to."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(self, message)


class UsageError(Exception):
    """The command line does not fit the parser that read it."""

    def __init__(self, parser: Parser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


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
    _add_common(parser, verbose=0, quiet=False, color="auto", config=None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for add in _COMMANDS:
        add(commands)
    add_moving_commands(commands)
    add_capability_commands(commands, _add_common)
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


def _add_common(parser: Parser, **defaults: object) -> None:
    """Options that may stand before or after the command; after it they have no default, so the first ones hold."""
    group = parser.add_argument_group("options of every command")

    def default(name: str) -> object:
        return defaults.get(name, argparse.SUPPRESS)

    group.add_argument("--config", metavar="FILE", default=default("config"), help="use this configuration file")
    group.add_argument("-v", "--verbose", action="count", default=default("verbose"), help="say more on standard error")
    group.add_argument("-q", "--quiet", action="store_true", default=default("quiet"), help="say only what is wrong")
    group.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default=default("color"),
        help="colours: on a terminal (auto, the default), always or never; NO_COLOR is honoured",
    )


def _command(
    commands: argparse._SubParsersAction[Parser], name: str, help: str, *, module: str = "", description: str = ""
) -> Parser:
    parser = commands.add_parser(name, help=help, description=description or f"{help[0].upper()}{help[1:]}.")
    parser.set_defaults(module=module or name)
    _add_common(parser)
    return parser


def _add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else on standard output")


def _add_wait(parser: Parser) -> None:
    parser.add_argument(
        "--wait",
        type=_seconds,
        default=DEFAULT_WAIT_SECONDS,
        metavar="SECONDS",
        help="how long servers that were never read may take to be read first (default: %(default)g; 0: do not)",
    )


def _add_tool(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", help="name of the server, or SERVER:TOOL")
    parser.add_argument("tool", metavar="TOOL", nargs="?", help="name of the tool")


def _add_list(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "list", "list the servers, with their tools and how each stands", module="list_servers")
    parser.add_argument("--status", action="store_true", help="show the connection status (shown by default)")
    parser.add_argument("--tools", action="store_true", help="show the number of tools (shown by default)")
    _add_json(parser)
    _add_wait(parser)


def _add_search(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "search", "find tools by what they do")
    parser.add_argument("query", metavar="QUERY", nargs="*", help="what the tool should do, in your own words")
    parser.add_argument("--server", metavar="NAME", help="search the tools of this server only")
    parser.add_argument("--domain", metavar="NAME", help="only tools about this, such as github.issues")
    parser.add_argument("--category", metavar="NAME", help="only tools of this kind, such as read or search")
    parser.add_argument(
        "--limit", type=_positive, default=DEFAULT_LIMIT, metavar="N", help="most results (default: %(default)s)"
    )
    parser.add_argument("--all", action="store_true", help="include tools that rules disable")
    parser.add_argument("--explain", action="store_true", help="show which words matched where")
    _add_json(parser)
    _add_wait(parser)


def _add_tools(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "tools", "list the tools of a server")
    parser.add_argument("server", metavar="SERVER", help="name of the server")
    parser.add_argument("--all", action="store_true", help="include tools that rules disable")
    parser.add_argument("--tags", action="store_true", help="show tags")
    _add_json(parser)
    _add_wait(parser)


def _add_inspect(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "inspect", "show what a tool does and takes")
    _add_tool(parser)
    parser.add_argument("--examples", action="store_true", help="show the server's examples")
    _add_json(parser)
    _add_wait(parser)


def _add_execute(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "execute", "run a tool")
    _add_tool(parser)
    parser.add_argument(
        "--args",
        metavar="JSON",
        help="arguments as a JSON object, @FILE or - for standard input (not needed where the tool requires none)",
    )
    parser.add_argument("--stream", action="store_true", help="show progress and log messages as they come")
    _add_json(parser)


def _add_config(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "config", "show, check or reload the configuration")
    actions = parser.add_subparsers(dest="action", metavar="show|validate|sources|reload", parser_class=Parser)
    actions.required = True
    for name, help in (
        ("show", "display the current configuration"),
        ("validate", "check the configuration and name each problem with its place"),
        ("sources", "list the files that servers are imported from"),
        ("reload", "have running gateways read the configuration again"),
    ):
        action = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        _add_common(action)
        _add_json(action)


def _add_registry(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "registry", "find servers that could be added, in the registries of MCP servers")
    actions = parser.add_subparsers(dest="action", metavar="search|show|sync", parser_class=Parser)
    actions.required = True
    search = actions.add_parser(
        "search", help="find servers by what they do", description="Find servers by what they do."
    )
    search.add_argument("query", metavar="QUERY", nargs="+", help="what the server should do, in your own words")
    search.add_argument(
        "--limit", type=_positive, default=DEFAULT_LIMIT, metavar="N", help="most results (default: %(default)s)"
    )
    show = actions.add_parser("show", help="show how a server is launched, what it needs and how to add it")
    show.add_argument("name", metavar="NAME", help="its full name, for example io.github.acme/atlas")
    show.add_argument("--versions", action="store_true", help="list its versions instead")
    show.add_argument("--bundle", metavar="FILE", help="check and unpack its MCPB file, which you downloaded")
    sync = actions.add_parser("sync", help="copy what the registries list, so that it is searched without network")
    sync.add_argument("--full", action="store_true", help="read everything again, not only what changed")
    for action in (search, show):
        action.add_argument("--live", action="store_true", help="ask the registries now, not the copy")
    for action in (search, show, sync):
        _add_common(action)
        _add_json(action)


def _add_logs(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "logs", "show what a server last wrote to its standard error")
    parser.add_argument("server", metavar="SERVER", help="name of the server")
    parser.add_argument(
        "-n",
        "--lines",
        type=_positive,
        default=DEFAULT_LOG_LINES,
        metavar="N",
        help="last lines (default: %(default)s)",
    )
    _add_json(parser)


def _add_doctor(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands,
        "doctor",
        "start each server, try it, and explain what is wrong",
        description="Really start each server, list its tools, call one that only reads, and explain each failure.",
    )
    parser.add_argument("servers", metavar="SERVER", nargs="*", help="servers to try (default: all)")
    _add_json(parser)


def _add_discover(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands,
        "discover",
        "read servers now and show what they offer",
        description="Read servers now, whatever is known of them, and remember what they offer.",
    )
    _add_reading(parser)


def _add_warm(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands,
        "warm",
        "have the tools of all servers at hand",
        description="Read the servers whose tools are not known or known for too long, so that nothing waits for them later.",
    )
    _add_reading(parser)
    parser.add_argument("--force", action="store_true", help="read those that are known well enough, too")


def _add_reading(parser: Parser) -> None:
    parser.add_argument("servers", metavar="SERVER", nargs="*", help="servers to read (default: all)")
    parser.add_argument(
        "--deadline", type=_seconds, metavar="SECONDS", help="answer after this time with the servers read by then"
    )
    parser.add_argument(
        "--retries", type=_count, metavar="N", help="further attempts at each server (default: setting maxRetries)"
    )
    _add_json(parser)


def _add_completion(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands,
        "completion",
        "print a script that completes commands, servers and tools in a shell",
        description='For example: eval "$(toolcrib completion bash)" in ~/.bashrc.',
    )
    parser.add_argument("shell", choices=SHELLS)


def _add_types(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands,
        "types",
        "show a JSON Schema or tool definition as type and signature, and a type as JSON Schema",
        description="Show the RTFS type and the signature of a JSON Schema or of tool definitions, or the JSON Schema "
        "of an RTFS type or of capability forms.",
    )
    parser.add_argument("file", metavar="FILE", help="a file with one of these, or - for standard input")
    parser.add_argument("--exact", action="store_true", help="keep listed values and bounds in the RTFS type")
    _add_json(parser)


def _add_serve(commands: argparse._SubParsersAction[Parser]) -> None:
    serve = _command(
        commands,
        "serve",
        "serve MCP on standard input and output, or with --http over HTTP",
        description="Serve the five meta-tools. `toolcrib settings` lists everything that can be set.",
    )
    serve.add_argument("--http", action="store_true", help="serve Streamable HTTP instead of standard input and output")
    serve.add_argument("--host", help="address to listen on (default: setting http.host)")
    serve.add_argument("--port", type=int, help="port to listen on, 0 for a free one (default: setting http.port)")
    serve.add_argument("--demo", action="store_true", help="with no server configured, offer two harmless demo servers")


def _add_trust(commands: argparse._SubParsersAction[Parser]) -> None:
    trust = _command(
        commands,
        "trust",
        "allow a configuration file found in a working directory to be used",
        description="Keep the path and hash of a configuration file, so that it is used when found here. "
        "An edited file must be trusted again.",
    )
    trust.add_argument("file", nargs="?", help="the file (default: the one found in this directory)")
    trust.add_argument("--forget", action="store_true", help="no longer trust it")


def _add_settings(commands: argparse._SubParsersAction[Parser]) -> None:
    _command(commands, "settings", "list every setting with its default, its variable and what it does")


_COMMANDS: tuple[Callable[[argparse._SubParsersAction[Parser]], None], ...] = (
    _add_list,
    _add_search,
    _add_tools,
    _add_inspect,
    _add_execute,
    _add_config,
    _add_registry,
    _add_logs,
    _add_doctor,
    _add_types,
    _add_discover,
    _add_warm,
    _add_serve,
    _add_trust,
    _add_settings,
    _add_completion,
)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, found {text!r}")
    return number


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, found {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"expected seconds from 0 to 3600, found {text!r}")
    return seconds
