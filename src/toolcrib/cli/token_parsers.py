"""The command line of named tokens."""

from __future__ import annotations

from toolcrib.cli.parser import Commands, Parser, add_actions, add_command, add_common, add_json


def add_token(commands: Commands) -> None:
    parser = add_command(
        commands,
        "token",
        "make, list and revoke tokens for single programs over HTTP",
        description="Make a token for one program that uses the gateway over HTTP, and say what it may do. "
        "The token is shown once; only its hash is kept.",
    )
    actions = add_actions(parser, ("create", "list", "revoke"))
    create = _action(actions, "create", "make a token, and print it once")
    create.add_argument("name", metavar="NAME", help="what you call it: letters, digits, dots and dashes")
    create.add_argument("--servers", action="append", metavar="NAMES", help="only these servers: names or globs, a,b")
    create.add_argument("--tags", action="append", metavar="TAGS", help="only tools with one of these tags, a,b")
    create.add_argument("--read-only", action="store_true", help="only tools that change nothing")
    # Another name within: `--profile` of every command line is that of the client that is served.
    create.add_argument(
        "--profile", dest="token_profile", metavar="NAME", default="", help="only what this profile allows"
    )
    create.add_argument(
        "--expires", metavar="WHEN", default="", help="a span such as 90d or 12h, or a date (default: never)"
    )
    _action(actions, "list", "list the tokens and what each may do")
    revoke = _action(actions, "revoke", "end a token, and the sessions of whoever uses it")
    revoke.add_argument("name", metavar="NAME", help="its name or id")


def _action(actions: Commands, name: str, help: str) -> Parser:
    action = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
    add_common(action)
    add_json(action)
    return action
