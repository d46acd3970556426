"""The command lines about the gateway itself: audit, calls, config, serve, stats, trust, settings, completion."""

from __future__ import annotations

from toolcrib.cli.parser import (
    Commands,
    Parser,
    add_command,
    add_explained_actions,
    add_json,
    add_lines,
    add_profile,
    count,
    digest,
    port,
)

SHELLS = ("bash", "zsh", "fish")
DEFAULT_CALLS = 20
AUDIT_FORMATS = ("jsonl", "csv")
GROUPINGS = ("server", "tool", "client")


def add_audit(commands: Commands) -> None:
    parser = add_command(
        commands,
        "audit",
        "show, check or export the log of everything that ran",
        description="The audit log has a line for each call and each decision. Every line covers the one before it, so that "
        "a changed or missing line shows.",
    )
    actions = add_explained_actions(
        parser,
        {
            "show": "show the last lines, calls and decisions alike",
            "tail": "show the last lines, with -f each new one as it is written",
            "verify": "check that no line was changed, removed or added",
            "export": "print every line as it was written, oldest first",
        },
    )
    for name in ("show", "tail"):
        _add_audit_filters(actions[name])
    actions["tail"].add_argument(
        "-f", "--follow", action="store_true", help="go on and show each line as it is written"
    )
    verify = actions["verify"]
    verify.add_argument("--from", dest="first", type=count, default=0, metavar="N", help="only from line N on")
    verify.add_argument("--expect", type=digest, metavar="HASH", help="a line with this hash must be there")
    actions["export"].add_argument(
        "--format",
        choices=AUDIT_FORMATS,
        default="jsonl",
        help="jsonl: as it was written, and can be checked (the default); csv: a table",
    )
    actions["export"].add_argument("--head", action="store_true", help="only the number and the hash of the last line")


def _add_audit_filters(parser: Parser) -> None:
    parser.add_argument(
        "-n", "--lines", type=count, default=DEFAULT_CALLS, metavar="N", help="the last N lines (default: %(default)s)"
    )
    parser.add_argument("--server", metavar="NAME", help="only lines about this server (a name or a glob)")
    parser.add_argument("--tool", metavar="NAME", help="only lines about this tool (a name or a glob, or SERVER:TOOL)")
    parser.add_argument("--caller", metavar="NAME", help="only lines of this client or person (a name or a glob)")
    parser.add_argument("--outcome", metavar="NAME", help="only lines with this outcome (a name or a glob)")
    _add_since(parser)


def add_calls(commands: Commands) -> None:
    parser = add_command(
        commands,
        "calls",
        "show the calls of all your AI clients, with -f live",
        description="Show the last calls that any of your AI clients made, with how each ended and how long it took.",
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on and show each call when it ends")
    parser.add_argument(
        "-n", "--lines", type=count, default=DEFAULT_CALLS, metavar="N", help="the last N calls (default: %(default)s)"
    )
    parser.add_argument("--server", metavar="NAME", help="only calls of this server (a name or a glob)")
    parser.add_argument("--tool", metavar="NAME", help="only calls of this tool (a name or a glob, or SERVER:TOOL)")
    parser.add_argument("--client", metavar="NAME", help="only calls of this client (a name or a glob)")
    parser.add_argument("--failed", action="store_true", help="only calls that failed")
    _add_since(parser)
    add_json(parser)


def add_stats(commands: Commands) -> None:
    parser = add_command(
        commands,
        "stats",
        "show calls, errors, times and tokens saved",
        description="Show how many calls there were, how they ended and how long they took, and estimate the tokens "
        "that your AI clients save.",
    )
    parser.add_argument("--by", choices=GROUPINGS, default="server", help="group the calls (default: %(default)s)")
    _add_since(parser, "7d")
    add_json(parser)


def _add_since(parser: Parser, default: str | None = None) -> None:
    usual = f" (default: {default})" if default else ""
    parser.add_argument(
        "--since",
        default=default,
        metavar="TIME",
        help=f"only calls since then: 30m, 2h or 7d ago, or a time such as 2026-11-16T09:30{usual}",
    )


def add_config(commands: Commands) -> None:
    parser = add_command(commands, "config", "show, check or reload the configuration")
    add_explained_actions(
        parser,
        {
            "show": "display the current configuration",
            "validate": "check the configuration and name each problem with its place",
            "sources": "list the files that servers are imported from",
            "reload": "have running gateways read the configuration again",
        },
    )


def add_engine(commands: Commands) -> None:
    parser = add_command(
        commands,
        "engine",
        "see, start, stop or restart the engine that clients share",
        description="The engine runs in the background for as long as clients need it, and a while longer. Clients start it.",
    )
    actions = add_explained_actions(
        parser,
        {
            "status": "show its clients, servers and running calls",
            "start": "start it before the first client does",
            "stop": "end it, and the sessions of its clients",
            "restart": "put a new one in its place; the sessions of its clients go on there",
            "logs": "show what it wrote to its log",
        },
    )
    add_lines(actions["logs"])


def add_serve(commands: Commands) -> None:
    serve = add_command(
        commands,
        "serve",
        "serve MCP on standard input and output, or over HTTP",
        description="Serve the five meta-tools. `toolcrib settings` lists everything that can be set.",
    )
    serve.add_argument("--http", action="store_true", help="serve Streamable HTTP instead of standard input and output")
    serve.add_argument("--host", help="address to listen on (default: setting http.host)")
    serve.add_argument("--port", type=port, help="port to listen on, 0 for a free one (default: setting http.port)")
    serve.add_argument(
        "--in-process",
        action="store_true",
        help="have a gateway of its own instead of the engine that all clients share",
    )
    add_profile(serve)
    serve.add_argument("--demo", action="store_true", help="with no server configured, offer two harmless demo servers")


def add_trust(commands: Commands) -> None:
    trust = add_command(
        commands,
        "trust",
        "allow a configuration file of a project folder to be used",
        description="Keep the path and hash of a configuration file, so that it is used when found here: toolcrib.yaml and "
        "its kin, or the file of an AI client (.mcp.json, .cursor/mcp.json, .vscode/mcp.json), whose servers are shown. "
        "An edited file must be trusted again.",
    )
    trust.add_argument("file", nargs="?", help="the file (default: those found in this directory)")
    trust.add_argument("--forget", action="store_true", help="no longer trust it")
    trust.add_argument("-y", "--yes", action="store_true", help="do not ask")
    trust.add_argument("--list", action="store_true", help="list the files that are trusted")


def add_settings(commands: Commands) -> None:
    add_command(commands, "settings", "list every setting with its default and what it does")


def add_completion(commands: Commands) -> None:
    parser = add_command(
        commands,
        "completion",
        "print a script for completion in bash, zsh or fish",
        description='For example: eval "$(toolcrib completion bash)" in ~/.bashrc.',
    )
    parser.add_argument("shell", metavar="|".join(SHELLS), choices=SHELLS)
