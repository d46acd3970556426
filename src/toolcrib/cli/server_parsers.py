"""The command lines about servers: registry, logs, login, logout, doctor, discover, warm."""

from __future__ import annotations

from toolcrib.cli.parser import (
    Commands,
    Parser,
    add_actions,
    add_command,
    add_common,
    add_json,
    add_lines,
    count,
    positive,
    seconds,
)

DEFAULT_SERVERS = 10


def add_registry(commands: Commands) -> None:
    parser = add_command(commands, "registry", "find servers that could be added, in the MCP registries")
    actions = add_actions(parser, ("search", "show", "sync"))
    search = actions.add_parser(
        "search", help="find servers by what they do", description="Find servers by what they do."
    )
    search.add_argument("query", metavar="QUERY", nargs="+", help="what the server should do, in your own words")
    search.add_argument(
        "--limit",
        type=positive,
        default=DEFAULT_SERVERS,
        metavar="N",
        help="at most this many results (default: %(default)s)",
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
        add_common(action)
        add_json(action)


def add_logs(commands: Commands) -> None:
    parser = add_command(
        commands,
        "logs",
        "show what a server wrote to standard error, with -f live",
        description="Show what a server last wrote to its standard error.",
    )
    parser.add_argument("server", metavar="SERVER", help="name of the server")
    add_lines(parser)
    add_json(parser)


def add_login(commands: Commands) -> None:
    parser = add_command(
        commands,
        "login",
        "sign in to a remote server",
        description="Sign in to a remote server, in your browser. The token is kept for all clients and renews by itself.",
    )
    parser.add_argument("server", metavar="SERVER", help="name of the server")
    parser.add_argument(
        "--no-browser", action="store_true", help="open no browser: show the address, and take what you paste"
    )
    parser.add_argument(
        "--from-mcp-remote", action="store_true", help="go on with the sign-in that mcp-remote has made to it"
    )
    parser.add_argument("--scopes", metavar="SCOPES", help='ask for these scopes, for example "repo user"')
    _add_account(parser)
    add_json(parser)


def add_logout(commands: Commands) -> None:
    parser = add_command(
        commands,
        "logout",
        "end a sign-in to a server",
        description="End a sign-in: Toolcrib tells the service, if it accepts that, and deletes the tokens in any case.",
    )
    parser.add_argument("server", metavar="SERVER", help="name of the server")
    parser.add_argument("--forget-client", action="store_true", help="forget how Toolcrib is registered there, too")
    _add_account(parser)
    add_json(parser)


def _add_account(parser: Parser) -> None:
    parser.add_argument("--account", metavar="NAME", help="another account than that of the server's entry")


def add_doctor(commands: Commands) -> None:
    parser = add_command(
        commands,
        "doctor",
        "start each server, try it, and explain what is wrong",
        description="Really start each server, list its tools, call one that only reads, and explain each failure.",
    )
    parser.add_argument("servers", metavar="SERVER", nargs="*", help="servers to try (default: all)")
    add_json(parser)


def add_discover(commands: Commands) -> None:
    parser = add_command(
        commands,
        "discover",
        "read servers now and show what they offer",
        description="Read servers now, whatever is known of them, and remember what they offer.",
    )
    _add_reading(parser)


def add_warm(commands: Commands) -> None:
    parser = add_command(
        commands,
        "warm",
        "read the servers whose tools are not known yet",
        description="Read the servers whose tools are not known or known for too long, so that nothing waits for them later.",
    )
    _add_reading(parser)
    parser.add_argument("--force", action="store_true", help="read those that are known well enough, too")


def _add_reading(parser: Parser) -> None:
    parser.add_argument("servers", metavar="SERVER", nargs="*", help="servers to read (default: all)")
    parser.add_argument(
        "--deadline", type=seconds, metavar="SECONDS", help="answer after this time with the servers read by then"
    )
    parser.add_argument(
        "--retries", type=count, metavar="N", help="further attempts at each server (default: setting maxRetries)"
    )
    add_json(parser)
