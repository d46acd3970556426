"""What could stand where the cursor is, for the completion scripts: one candidate a line, never an error."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from toolcrib.cli.exits import OK
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.engine.open_catalog import open_reading
from toolcrib.errors import ToolcribError
from toolcrib.storage.sqlite_peers import SqlitePeers
from toolcrib.workspace.catalog_view import CatalogView

# Candidates are pasted into a command line: a name with anything a shell might act on is not offered.
_HARMLESS = re.compile(r"[A-Za-z0-9_.@%+=:,/-]+")
_SERVER_COMMANDS = frozenset({"tools", "inspect", "execute", "logs", "login", "logout", "doctor", "discover", "warm"})
_MANY_SERVERS = frozenset({"doctor", "discover", "warm"})
_TOOL_COMMANDS = frozenset({"inspect", "execute"})
_PEER_ACTIONS = frozenset({"show", "trust", "forget"})


def run(words: Sequence[str], parser: argparse.ArgumentParser) -> int:
    """`words` is everything typed after the program's name; the last one, perhaps empty, is being completed."""
    *before, current = words or [""]
    found = sorted({word for word in _candidates(before, current, parser) if word.startswith(current)})
    for word in found:
        if _HARMLESS.fullmatch(word):
            print(word)
    return OK


def _candidates(before: list[str], current: str, parser: argparse.ArgumentParser) -> Iterable[str]:
    parser, positionals = _descend(parser, before)
    previous = before[-1] if before else ""
    option = parser._option_string_actions.get(previous)  # noqa: SLF001 (argparse has no other door)
    if option is not None and option.nargs != 0:
        return _values(option, before)
    if current.startswith("-"):
        return list(parser._option_string_actions)  # noqa: SLF001 (as above)
    for action in parser._actions:  # noqa: SLF001 (as above)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 (as above)
            return list(action.choices)
        if not action.option_strings and action.choices:
            return [str(choice) for choice in action.choices]
    return _names(_command(parser), positionals, before)


def _descend(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of the command being typed, and its positional words so far."""
    positionals: list[str] = []
    skip = False
    for word in words:
        option = parser._option_string_actions.get(word)  # noqa: SLF001 (argparse has no other door)
        subparsers = next((a for a in parser._actions if isinstance(a, argparse._SubParsersAction)), None)  # noqa: SLF001
        if skip:
            skip = False
        elif option is not None:
            skip = option.nargs != 0
        elif word.startswith("-"):
            continue
        elif subparsers is not None and word in subparsers.choices:
            parser, positionals = subparsers.choices[word], []
        else:
            positionals.append(word)
    return parser, positionals


def _command(parser: argparse.ArgumentParser) -> str:
    return parser.prog.rpartition(" ")[2]


def _values(option: argparse.Action, before: Sequence[str]) -> Iterable[str]:
    if option.choices:
        return [str(choice) for choice in option.choices]
    return _servers(before) if option.dest == "server" else ()


def _names(command: str, positionals: Sequence[str], before: Sequence[str]) -> Iterable[str]:
    if before[:1] == ["peers"] and command in _PEER_ACTIONS and not positionals:
        return _peers()
    if command in _TOOL_COMMANDS and len(positionals) == 1:
        return _tools(positionals[0], before)
    if command in _SERVER_COMMANDS and (not positionals or command in _MANY_SERVERS):
        return _servers(before)
    return ()


def _peers() -> Iterable[str]:
    with suppress(ToolcribError, OSError), closing(SqlitePeers(Paths.of(os.environ).catalog)) as store:
        return [peer.server for peer in store.peers()]
    return ()


def _servers(before: Sequence[str]) -> Iterable[str]:
    return _look_up(before, lambda view: [*view.specs])


def _tools(server: str, before: Sequence[str]) -> Iterable[str]:
    return _look_up(before, lambda view: [*view.tools(server), *view.items(server)] if view.knows(server) else [])


def _look_up(before: Sequence[str], names: Callable[[CatalogView], list[str]]) -> list[str]:
    """Names from the catalog as it is; none where it can't be read."""
    named = before.index("--config") + 1 if "--config" in before else len(before)
    config = Path(before[named]) if named < len(before) else None
    with suppress(ToolcribError, OSError):
        reading = open_reading(load_settings(config), Paths.of(os.environ))
        with closing(reading.store):
            return names(reading.view)
    return []
