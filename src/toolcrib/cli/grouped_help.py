"""The help of the whole program: its commands in groups, instead of one long list."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from toolcrib.cli.parser import Formatter, Parser

# Wide enough for `-v, --verbose`; what it says beside a command then fits into one line of 80 columns.
HELP_COLUMN = 18


class GroupedParser(Parser):
    """A parser whose help shows its commands by `groups`: a title, and the names of the commands below it."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, formatter_class=partial(Formatter, max_help_position=HELP_COLUMN), **more)
        self.groups: dict[str, list[str]] = {}

    def format_help(self) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        explained = self._explained_commands()
        for title, names in self.groups.items():
            formatter.start_section(title)
            formatter.add_arguments(explained[name] for name in names)
            formatter.end_section()
        self._add_options(formatter)
        for line in (self.epilog or "").splitlines():
            formatter.add_text(line)
        return formatter.format_help()

    def _explained_commands(self) -> dict[str, argparse.Action]:
        """What argparse shows of each command."""
        return {
            shown.dest: shown
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 (it has no public name)
            for shown in action._choices_actions  # noqa: SLF001 (as above)
        }

    def _add_options(self, formatter: argparse.HelpFormatter) -> None:
        options = [group for group in self._action_groups if group is not self._positionals]
        for group in options:
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)  # noqa: SLF001 (as above)
            formatter.end_section()
