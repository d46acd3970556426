"""Help for somebody who does not know the program yet, and for somebody who mistyped."""

from __future__ import annotations

import re

import pytest

from tests.cli.machine import Machine
from toolcrib.cli.main import build_parser, main

GROUPS = ("find and run tools", "servers", "AI clients", "the gateway", "types and capabilities")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert leaving.value.code == 0
    return capsys.readouterr().out


def commands_by_group(help: str) -> dict[str, list[str]]:
    sections = re.findall(r"^([A-Za-z ]+):\n((?:  .*\n)+)", help, re.MULTILINE)
    return {title: re.findall(r"^  (\w+) ", text, re.MULTILINE) for title, text in sections if title in GROUPS}


def test_help_shows_every_command_once_in_groups_and_sorted(capsys: pytest.CaptureFixture[str]) -> None:
    groups = commands_by_group(shown(capsys, "--help"))

    assert tuple(groups) == GROUPS
    assert all(names == sorted(names) for names in groups.values())
    known = next(action.choices for action in build_parser("toolcrib")._actions if action.dest == "command")
    assert sorted(name for names in groups.values() for name in names) == sorted(known)


def test_help_says_each_command_in_one_line_of_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    help = shown(capsys, "--help").partition("\noptions:")[0]

    assert max(map(len, help.splitlines())) <= 80
    assert not re.search(r"^ {10}", help, re.MULTILINE), "a command takes two lines"


def test_help_is_also_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "help") == shown(capsys, "--help")
    assert shown(capsys, "help", "config", "show") == shown(capsys, "config", "show", "--help")


@pytest.mark.parametrize(
    ("typed", "said", "meant"),
    [
        ("lst", "there is no command 'lst'", "list"),
        ("serach issues", "there is no command 'serach'", "search"),
        ("config shwo", "there is no command 'shwo'", "show"),
        ("list --jsno", "there is no option --jsno", "--json"),
        ("adopt cursor --dryrun", "there is no option --dryrun", "--dry-run"),
        ("search --limt=3 issues", "there is no option --limt", "--limit"),
    ],
)
def test_a_mistyped_word_is_told_what_it_may_have_meant(typed: str, said: str, meant: str, machine: Machine) -> None:
    ran = machine.run(*typed.split())

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("usage: toolcrib ")
    assert said in ran.err
    assert ran.err.endswith(f"\nDid you mean: {meant}?\n")
    assert len(ran.err.splitlines()) == 3


def test_a_word_like_no_command_is_told_where_the_commands_are_listed(machine: Machine) -> None:
    ran = machine.run("frobnicate")

    assert ran.err.endswith("there is no command 'frobnicate'\n`toolcrib --help` shows what there is.\n")


def test_what_a_mistyped_command_meant_is_in_its_json_too(machine: Machine) -> None:
    ran = machine.run("lst", "--json")

    assert ran.json["error"]["hint"] == "Did you mean: list?"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("config", "missing: show|validate|sources|reload"),
        ("tools", "missing: SERVER"),
        ("list --color red", "--color: expected one of auto, always, never; found 'red'"),
        ("settings now", "unexpected argument 'now'"),
    ],
)
def test_a_command_line_that_does_not_fit_is_answered_in_plain_words(typed: str, said: str, machine: Machine) -> None:
    ran = machine.run(*typed.split())

    assert ran.code == 1
    assert said in ran.err


def test_options_may_stand_between_the_words_of_a_query(seeded: Machine) -> None:
    between = seeded.run("search", "create", "--limit", "1", "an", "--json", "issue")

    assert between.out == seeded.run("search", "create an issue", "--limit", "1", "--json").out
    assert seeded.run("search", "--", "-v", "issue").code in {0, 2}
