"""The command lines about tools: list, search, tools, inspect, execute, types."""

from __future__ import annotations

from toolcrib.cli.parser import Commands, Parser, add_command, add_json, positive, seconds

DEFAULT_WAIT_SECONDS = 20.0
DEFAULT_RESULTS = 10


def add_list(commands: Commands) -> None:
    parser = add_command(commands, "list", "list the servers, their state and number of tools", module="list_servers")
    parser.add_argument("--status", action="store_true", help="show the connection status (shown by default)")
    parser.add_argument("--tools", action="store_true", help="show the number of tools (shown by default)")
    add_json(parser)
    _add_wait(parser)


def add_search(commands: Commands) -> None:
    parser = add_command(commands, "search", "find tools by what they do")
    parser.add_argument("query", metavar="QUERY", nargs="*", help="what the tool should do, in your own words")
    parser.add_argument("--server", metavar="NAME", help="search the tools of this server only")
    parser.add_argument("--domain", metavar="NAME", help="only tools of this domain, such as github.issues")
    parser.add_argument("--category", metavar="NAME", help="only tools of this category, such as read or search")
    parser.add_argument(
        "--limit",
        type=positive,
        default=DEFAULT_RESULTS,
        metavar="N",
        help="at most this many results (default: %(default)s)",
    )
    parser.add_argument("--all", action="store_true", help="include tools that rules disable")
    parser.add_argument("--explain", action="store_true", help="show which words matched where")
    add_json(parser)
    _add_wait(parser)


def add_tools(commands: Commands) -> None:
    parser = add_command(commands, "tools", "list the tools of a server")
    parser.add_argument("server", metavar="SERVER", help="name of the server")
    parser.add_argument("--all", action="store_true", help="include tools that rules disable")
    parser.add_argument("--tags", action="store_true", help="show tags")
    add_json(parser)
    _add_wait(parser)


def add_inspect(commands: Commands) -> None:
    parser = add_command(commands, "inspect", "show what a tool does and takes")
    _add_tool(parser)
    parser.add_argument("--examples", action="store_true", help="show the server's examples")
    add_json(parser)
    _add_wait(parser)


def add_execute(commands: Commands) -> None:
    parser = add_command(commands, "execute", "run a tool")
    _add_tool(parser)
    parser.add_argument(
        "pairs",
        metavar="KEY=VALUE",
        nargs="*",
        help="a parameter of the tool: repeat KEY for a list, KEY.KEY=VALUE reaches into an object, KEY:=JSON gives JSON",
    )
    parser.add_argument(
        "--args", metavar="JSON", help="all parameters as a JSON object, @FILE, or - for standard input"
    )
    parser.add_argument("--stream", action="store_true", help="show progress and log messages as they come")
    parser.add_argument(
        "-y", "--yes", action="store_true", help="run it without asking, where the setting confirm wants a question"
    )
    add_json(parser)


def add_types(commands: Commands) -> None:
    parser = add_command(
        commands,
        "types",
        "show a JSON Schema as a type, or a type as a JSON Schema",
        description="Show the RTFS type and the signature of a JSON Schema or of tool definitions, or the JSON Schema "
        "of an RTFS type or of capability forms.",
    )
    parser.add_argument("file", metavar="FILE", help="a file with one of these, or - for standard input")
    parser.add_argument("--exact", action="store_true", help="keep listed values and bounds in the RTFS type")
    add_json(parser)


def _add_wait(parser: Parser) -> None:
    parser.add_argument(
        "--wait",
        type=seconds,
        default=DEFAULT_WAIT_SECONDS,
        metavar="SECONDS",
        help="how long servers that were never read may take to be read first (default: %(default)g; 0: do not)",
    )


def _add_tool(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", help="name of the server, or SERVER:TOOL")
    parser.add_argument("tool", metavar="TOOL", nargs="?", help="name of the tool")
