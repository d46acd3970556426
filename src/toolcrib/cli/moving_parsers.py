"""The command lines of moving in and out: adopt, release, connect, add, remove, enable, disable."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from toolcrib.cli.parser import add_json


class WrongWords(Exception):
    """What was given to `add` does not fit."""


def add_moving_commands(commands: Any) -> None:
    """Add the parsers of these commands; `commands` is what `add_subparsers` gave."""
    adopt = _command(commands, "adopt", "move the servers of your AI clients behind the counter, reversibly")
    _add_clients(adopt, "clients to adopt (default: every one found that has servers)")
    _add_consent(adopt)
    adopt.add_argument(
        "--secrets",
        choices=["keep", "keyring"],
        default="keep",
        help="keep plaintext tokens and keys in our file (default), or move them to the keyring of this machine",
    )
    adopt.add_argument(
        "--local", action="store_true", help="also move servers that Claude Code has for single folders only"
    )
    adopt.add_argument("--keep", action="append", default=[], metavar="NAME", help="leave this server in its client")
    release = _command(commands, "release", "give the clients their servers back and take Toolcrib out of them")
    _add_clients(release, "clients to release (default: all that were adopted)")
    _add_consent(release)
    connect = _command(commands, "connect", "only add Toolcrib to a client; its servers stay where they are")
    connect.add_argument("client", metavar="CLIENT", help="the client, for example cursor")
    connect.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add = _command(
        commands,
        "add",
        "add a server to our own file: add NAME -- COMMAND..., or add NAME URL",
        usage="%(prog)s NAME [options] (URL | -- COMMAND [ARGUMENT ...])",
    )
    _add_server_options(add)
    # All of it in one: argparse would take the -- away together with a name before it.
    add.add_argument("rest", nargs=argparse.REMAINDER, metavar="NAME ...", help="name, then URL or -- COMMAND")
    for name, help in (
        ("remove", "remove a server from our own file"),
        ("enable", "offer a server of our own file again"),
        ("disable", "keep a server in our own file but offer nothing of it"),
    ):
        _command(commands, name, help).add_argument("name", metavar="NAME", help="the server's name")


def read_rest(options: argparse.Namespace) -> argparse.Namespace:
    """The options of `add`, those after its NAME too: `name`, and `url` or `words` (the command line)."""
    words: list[str] = options.rest
    front, command = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    # Known before anything can be wrong, so that what is wrong is said in the form asked for.
    options.json = options.json or "--json" in front
    parser = _Rest(add_help=False, allow_abbrev=False)
    _add_server_options(parser)
    parser.add_argument("name", nargs="?")
    parser.add_argument("url", nargs="?")
    rest = parser.parse_intermixed_args(front)
    rest.words = command
    for key in ("env", "header"):
        setattr(rest, key, [*getattr(options, key), *getattr(rest, key)])
    rest.json, rest.command = options.json, options.command
    rest.config = getattr(rest, "config", None) or options.config
    if not rest.name:
        raise WrongWords("expected the name of a server")
    if bool(rest.url) == bool(command):
        raise WrongWords("expected a URL, or -- and a command line" + (", not both" if rest.url else ""))
    return rest


class _Rest(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongWords(message)


def _command(commands: Any, name: str, help: str, **more: Any) -> Any:
    parser = commands.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.", **more)
    parser.set_defaults(module=name)
    if name != "add":
        _add_common(parser)
    return parser


def _add_common(parser: Any) -> None:
    # No default of its own: one given before the command must hold.
    parser.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help="use this configuration file")
    add_json(parser)


def _add_server_options(parser: Any) -> None:
    _add_common(parser)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for the command")
    parser.add_argument("--header", action="append", default=[], metavar="NAME:VALUE", help="a header for the URL")


def _add_clients(parser: Any, help: str) -> None:
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=help)


def _add_consent(parser: Any) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="do it without asking")
