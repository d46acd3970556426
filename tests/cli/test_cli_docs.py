"""docs/cli.md names every command, every option and every exit code."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
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


@pytest.mark.parametrize("code", sorted({value for name, value in vars(exits).items() if name.isupper()}))
def test_an_exit_code_is_documented(code: int) -> None:
    assert re.search(rf"^\| {code} \|", PAGE, re.MULTILINE)
