"""The command lines of moving in and out: adopt, release, connect, add, remove, enable, disable."""

from __future__ import annotations

import argparse
from typing import NoReturn

from toolcrib.cli.parser import Commands, Parser, add_command, add_common, add_json


class WrongWords(Exception):
    """What was given to `add` does not fit."""


def add_adopt(commands: Commands) -> None:
    adopt = _command(commands, "adopt", "move your AI clients' servers into Toolcrib, reversibly")
    _add_clients(adopt, "clients to adopt (default: every one found that has servers)")
    _add_consent(adopt)
    _add_diff(adopt)
    adopt.add_argument(
        "--secrets",
        choices=["keep", "keyring"],
        default="keep",
        help="keep plaintext tokens and keys in Toolcrib's file (default), or move them to the keyring of this machine",
    )
    adopt.add_argument(
        "--local", action="store_true", help="also move servers that Claude Code has for single folders only"
    )
    adopt.add_argument(
        "--profiles", action="store_true", help="give each client a profile, so that it sees only the servers it had"
    )
    adopt.add_argument("--keep", action="append", default=[], metavar="NAME", help="leave this server in its client")


def add_release(commands: Commands) -> None:
    release = _command(commands, "release", "undo adopt: give the clients their servers back")
    _add_clients(release, "clients to release (default: all that were adopted)")
    _add_consent(release)


def add_connect(commands: Commands) -> None:
    connect = _command(commands, "connect", "only add Toolcrib to a client; its servers stay in it")
    connect.add_argument("client", metavar="CLIENT", help="the client, for example cursor")
    connect.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    _add_diff(connect)


def add_add(commands: Commands) -> None:
    add = commands.add_parser(
        "add",
        help="add a server: add NAME -- COMMAND..., or add NAME URL",
        description="Add a server to Toolcrib's file: a command that starts it, or the URL of one that is already running.",
        usage="%(prog)s NAME (URL | -- COMMAND [ARGUMENT ...]) [options]",
    )
    add.set_defaults(module="add")
    _add_server_options(add)
    # All of it in one: argparse would take the -- away together with a name before it.
    add.add_argument("rest", nargs=argparse.REMAINDER, metavar="NAME ...", help="name, then URL or -- COMMAND")


def add_remove(commands: Commands) -> None:
    remove = _command(commands, "remove", "remove a server from Toolcrib's file")
    _add_name(remove)
    remove.add_argument(
        "--keep-secrets", action="store_true", help="leave the values in the keyring that `add --secret` put there"
    )


def add_enable(commands: Commands) -> None:
    _add_name(_command(commands, "enable", "offer the tools of a disabled server again"))


def add_disable(commands: Commands) -> None:
    _add_name(_command(commands, "disable", "keep a server's entry, but offer none of its tools"))


def read_rest(options: argparse.Namespace) -> argparse.Namespace:
    """The options of `add`, those after its NAME too: `name`, and `url` or `words` (the command line)."""
    words: list[str] = options.rest
    front, command = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    # Known before anything can be wrong, so that errors come in the form asked for.
    options.json = options.json or "--json" in front
    parser = _Rest(add_help=False, allow_abbrev=False)
    _add_server_options(parser)
    parser.add_argument("name", nargs="?")
    parser.add_argument("url", nargs="?")
    rest = parser.parse_intermixed_args(front)
    rest.words = command
    for key in ("env", "header", "secret"):
        setattr(rest, key, [*getattr(options, key), *getattr(rest, key)])
    rest.json, rest.share = options.json, rest.share or options.share
    # What was given before the command holds, unless it was given again.
    for key, value in vars(options).items():
        vars(rest).setdefault(key, value)
    if not rest.name:
        raise WrongWords("expected the name of a server")
    if bool(rest.url) == bool(command):
        raise WrongWords("expected a URL, or -- and a command line" + (", not both" if rest.url else ""))
    return rest


class _Rest(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongWords(message)


def _command(commands: Commands, name: str, help: str) -> Parser:
    parser = add_command(commands, name, help)
    add_json(parser)
    return parser


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    add_common(parser)
    add_json(parser)
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a variable for the command; without a value, the one that has this name where the server is started",
    )
    parser.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="NAME",
        help="a variable (or header) whose value is asked for, or read from standard input, and kept in the keyring",
    )
    parser.add_argument("--header", action="append", default=[], metavar="NAME:VALUE", help="a header for the URL")
    parser.add_argument("--share", metavar="WHEN", help="whether clients share one process: auto, always or never")


def _add_name(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the server's name")


def _add_clients(parser: Parser, help: str) -> None:
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=help)


def _add_consent(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="do it without asking")


def _add_diff(parser: Parser) -> None:
    parser.add_argument("--diff", action="store_true", help="show every line of the clients' files that changes")
