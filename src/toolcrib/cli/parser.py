"""What every command line is made of: the parser, and the options that many commands share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn, TypeAlias

DEFAULT_LOG_LINES = 50

_MISSING = "the following arguments are required: "


class UsageError(Exception):
    """The command line does not fit the parser that read it; `hint` says what would."""

    def __init__(self, parser: Parser, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.parser = parser
        self.hint = hint


class Formatter(argparse.HelpFormatter):
    """Help whose usage line names only what a command is about: its options follow below."""

    def _format_usage(self, usage: str | None, actions: Iterable[argparse.Action], *_: Any) -> str:
        if usage is None:
            words = [_usage_word(action) for action in actions if not action.option_strings]
            usage = " ".join(["%(prog)s", *words, "[options]"])
        return f"usage: {usage % {'prog': self._prog}}\n\n"


class Parser(argparse.ArgumentParser):
    """argparse that takes options between other words, and leaves it to `main` what a usage error comes to."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"formatter_class": Formatter, **more})
        self._positionals.title = "arguments"
        self._is_mixing = False
        # What is done where none of a command's actions is named.
        self.usual_action = ""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """The options; whatever fits nothing is refused here, by the parser of the command it was given to."""
        if self._is_mixing:
            return super().parse_known_args(args, namespace)
        found, left = self._parsed(self._with_action(args), namespace)
        if left:
            self._refuse(left[0])
        return found, left

    def error(self, message: str) -> NoReturn:
        if message.startswith(_MISSING):
            message = f"missing: {message.removeprefix(_MISSING)}"
        raise UsageError(self, message.removeprefix("argument "))

    def _with_action(self, args: Sequence[str] | None) -> Sequence[str] | None:
        """The words with the usual action before them, where there is one and only options are given."""
        if not self.usual_action or args is None or (args and not args[0].startswith("-")):
            return args
        named = {"-h", "--help", *self._actions_by_name}
        return args if named.intersection(args) else [self.usual_action, *args]

    @property
    def _actions_by_name(self) -> Iterable[str]:
        return (name for action in self._get_positional_actions() for name in action.choices or ())

    def _parsed(self, args: Sequence[str] | None, namespace: Any) -> tuple[Any, list[str]]:
        whole = {argparse.PARSER, argparse.REMAINDER}
        takes_all = any(action.nargs in whole for action in self._get_positional_actions())
        if takes_all or args is None or "--" in args:
            return super().parse_known_args(args, namespace)
        # Plain argparse gives `execute SERVER TOOL --json KEY=VALUE` no place for the last word.
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 (it has no public name)
            raise UsageError(
                self, f"there is no command {value!r}", _meant(str(value), action.choices) or _see_help(self)
            )
        name = "/".join(action.option_strings) or action.metavar or action.dest
        raise UsageError(self, f"{name}: expected one of {', '.join(map(str, action.choices))}; found {value!r}")

    def _refuse(self, word: str) -> NoReturn:
        if not word.startswith("-"):
            raise UsageError(self, f"unexpected argument {word!r}", _see_help(self))
        name = word.partition("=")[0]
        raise UsageError(
            self, f"there is no option {name}", _meant(name, self._option_string_actions) or _see_help(self)
        )


# What `add_subparsers` gives has no public name.
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001


def _usage_word(action: argparse.Action) -> str:
    word = str(action.metavar or action.dest)
    if action.choices and not action.metavar:
        word = "|".join(map(str, action.choices))
    forms = {"?": f"[{word}]", "*": f"[{word} ...]", "+": f"{word} ..."}
    return forms.get(str(action.nargs), word)


def _meant(word: str, known: Iterable[str]) -> str:
    # Only here: what is close to a name is looked for after a mistake, not at every start.
    close = import_module("toolcrib.config.names").nearest(word, known)
    return f"Did you mean: {close}?" if close else ""


def _see_help(parser: argparse.ArgumentParser) -> str:
    return f"`{parser.prog} --help` shows what there is."


def add_command(commands: Commands, name: str, help: str, *, module: str = "", description: str = "") -> Parser:
    parser = commands.add_parser(name, help=help, description=description or f"{help[0].upper()}{help[1:]}.")
    parser.set_defaults(module=module or name)
    add_common(parser)
    return parser


def add_actions(parser: Parser, names: Sequence[str]) -> Commands:
    """The actions of a command that has several, one of which must be named; to list is what is meant without."""
    parser.usual_action = "list" if "list" in names else ""
    actions = parser.add_subparsers(dest="action", metavar="|".join(names), prog=parser.prog, parser_class=Parser)
    actions.required = True
    return actions


def add_explained_actions(parser: Parser, explained: Mapping[str, str]) -> dict[str, Parser]:
    """The same for actions that need no words of their own; each takes the common options and `--json`."""
    actions = add_actions(parser, list(explained))
    added = {}
    for name, help in explained.items():
        added[name] = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        add_common(added[name])
        add_json(added[name])
    return added


def add_common(parser: argparse.ArgumentParser, **defaults: object) -> None:
    """Options that may stand before or after the command; after it they have no default, so the first ones hold."""
    group = parser.add_argument_group("options of every command")

    def default(name: str) -> object:
        return defaults.get(name, argparse.SUPPRESS)

    group.add_argument("--config", metavar="FILE", default=default("config"), help="use this configuration file")
    group.add_argument(
        "-v", "--verbose", action="count", default=default("verbose"), help="print more on standard error"
    )
    group.add_argument("-q", "--quiet", action="store_true", default=default("quiet"), help="print only what is wrong")
    group.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default=default("color"),
        help="colours: on a terminal (auto, the default), always or never; NO_COLOR is honoured",
    )


def add_profile(parser: argparse.ArgumentParser, default: object = argparse.SUPPRESS) -> None:
    """Which profile holds for the client that is served; like the options of every command it may stand before `serve`."""
    parser.add_argument(
        "--profile",
        metavar="NAME",
        default=default,
        help="give the client on standard input only what this profile allows",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else on standard output")


def add_lines(parser: argparse.ArgumentParser) -> None:
    """Options of a command that shows a log."""
    parser.add_argument("-f", "--follow", action="store_true", help="go on and show each line as it is written")
    parser.add_argument(
        "-n",
        "--lines",
        type=positive,
        default=DEFAULT_LOG_LINES,
        metavar="N",
        help="show this many lines (default: %(default)s)",
    )


def positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, found {text!r}")
    return number


def count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, found {text!r}")
    return int(text)


def digest(text: str) -> str:
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise argparse.ArgumentTypeError(f"expected a hash of 64 hexadecimal digits, found {text!r}")
    return text


def port(text: str) -> int:
    number = int(text) if text.isdecimal() else -1
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, found {text!r}")
    return number


def seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"expected seconds from 0 to 3600, found {text!r}")
    return number
