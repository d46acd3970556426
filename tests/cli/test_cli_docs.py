"""docs/cli.md names every command, every option and every exit code."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from toolcrib.cli import exits
from toolcrib.cli.main import build_parser

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text("utf-8")


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield name, command
                yield from ((f"{name} {inner}", one) for inner, one in _commands(command))


@pytest.mark.parametrize("name", [name for name, _ in _commands(build_parser("toolcrib"))])
def test_a_command_and_its_options_are_documented(name: str) -> None:
    assert re.search(rf"`toolcrib {name}\b", PAGE)
    command = dict(_commands(build_parser("toolcrib")))[name]
    for option in command._option_string_actions:
        if option.startswith("--") and option != "--help":
            assert f"`{option}" in PAGE, option


EXIT_ROWS = re.findall(r"^\| (\d+) \|(.*)\|$", PAGE.partition("## Exit codes")[2], re.MULTILINE)
EXITS = {name: value for name, value in vars(exits).items() if name.isupper()}


def test_the_table_of_exit_codes_has_every_code_and_no_other() -> None:
    assert {int(code) for code, _ in EXIT_ROWS} == set(EXITS.values())


@pytest.mark.parametrize("name", [name for name, _ in _commands(build_parser("toolcrib")) if " " not in name])
def test_a_command_with_an_exit_code_of_its_own_is_named_in_the_row_of_that_code(name: str) -> None:
    command = dict(_commands(build_parser("toolcrib")))[name]
    used = vars(import_module(f"toolcrib.cli.{command.get_default('module')}"))
    for word in EXITS.keys() & used.keys() - {"OK", "USAGE"}:
        rows = [meaning for code, meaning in EXIT_ROWS if int(code) == EXITS[word]]
        assert any(f"`{name}" in meaning for meaning in rows), word
