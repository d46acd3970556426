"""What every command line is made of: the parser, and the options that many commands share."""

from __future__ import annotations

import argparse
from typing import NoReturn, TypeAlias


class Parser(argparse.ArgumentParser):
    """argparse that leaves it to `main` what a usage error comes to."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(self, message)


class UsageError(Exception):
    """The command line does not fit the parser that read it."""

    def __init__(self, parser: Parser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


# What `add_subparsers` gives has no public name.
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001


def add_command(commands: Commands, name: str, help: str, *, module: str = "", description: str = "") -> Parser:
    parser = commands.add_parser(name, help=help, description=description or f"{help[0].upper()}{help[1:]}.")
    parser.set_defaults(module=module or name)
    add_common(parser)
    return parser


def add_common(parser: Parser, **defaults: object) -> None:
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


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else on standard output")


def positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, found {text!r}")
    return number


def count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, found {text!r}")
    return int(text)


def seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"expected seconds from 0 to 3600, found {text!r}")
    return number
