"""What changes when a person looks: colours, width, a live display. And what never reaches them."""

from __future__ import annotations

import re
import sys

import pytest

from tests.cli.machine import Machine, check_golden
from toolcrib.cli.terminal import width_of

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

from tests.cli.pty_session import run_on_terminal

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# What our own live display may send: colours, up some lines, clear to the end.
OWN_SEQUENCES = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9]+F|J)")


def test_a_terminal_gets_colours_and_a_pipe_none(seeded: Machine) -> None:
    shown = run_on_terminal("tools", "github", "--all", "--tags")
    assert shown.code == 0
    check_golden("terminal_tools.txt", shown.out)
    plain = seeded.run_apart("tools", "github", "--all", "--tags")
    assert COLOUR.sub("", shown.out) == plain.out
    assert "\x1b" not in plain.out


@pytest.mark.parametrize("columns", [50, 120])
def test_the_table_of_servers_fits_the_terminal_and_is_coloured(columns: int, seeded: Machine) -> None:
    check_golden(f"terminal_list_{columns}.txt", run_on_terminal("list", columns=columns).out)


@pytest.mark.parametrize(
    ("arguments", "env", "colours"),
    [
        (["list"], {"NO_COLOR": "1"}, False),
        (["list"], {"TERM": "dumb"}, False),
        (["--color", "never", "list"], {}, False),
        (["list", "--color", "always"], {"NO_COLOR": "1"}, True),
    ],
)
def test_colours_can_be_chosen(arguments: list[str], env: dict[str, str], colours: bool, seeded: Machine) -> None:
    assert ("\x1b" in run_on_terminal(*arguments, env=env).out) is colours


def test_colours_can_be_forced_into_a_pipe(seeded: Machine) -> None:
    assert "\x1b[" in seeded.run("list", "--color", "always").out


def test_json_on_a_terminal_is_json_alone(seeded: Machine) -> None:
    assert run_on_terminal("list", "--json").json == seeded.run("list", "--json").json


@pytest.mark.parametrize("columns", [44, 60])
def test_text_keeps_within_the_terminal(columns: int, seeded: Machine) -> None:
    shown = run_on_terminal("inspect", "github", "create_issue", columns=columns)
    check_golden(f"terminal_inspect_{columns}.txt", shown.out)
    assert max(width_of(line) for line in COLOUR.sub("", shown.out).split("\n")) <= columns


def test_reading_servers_for_the_first_time_shows_each_and_a_bar_then_only_the_answer(machine: Machine) -> None:
    machine.workshop("friendly", "broken")
    shown = run_on_terminal("list")
    assert shown.code == 0
    assert "Reading servers ░" in shown.out
    assert "2/2" in shown.out
    assert re.search(r"✓\S* friendly: 7 tools", shown.out)
    answer = COLOUR.sub("", shown.out.rpartition("\x1b[J")[2])
    assert answer == machine.run("list").out


def test_the_live_display_never_grows_beyond_the_screen(machine: Machine) -> None:
    many = ", ".join(f"s{number}: {{command: no-such-program, args: ['{number}']}}" for number in range(40))
    machine.configure(f"servers: {{{many}}}")
    shown = run_on_terminal("list", rows=10)
    assert "40/40" in shown.out
    assert max(int(up) for up in re.findall(r"\x1b\[(\d+)F", shown.out)) <= 8


# At home: where the folders of a test begin is too long for any terminal.
WORDY = """
servers:
  clockwork:
    command: no-such-program-of-a-rather-long-name-that-nobody-has-installed
    description: Tells the time and counts the days between any two dates of any calendar that was ever in use
  a-server-with-a-name-that-takes-more-room-than-a-table-can-give: {command: never-started, disabled: true}
sources: [{type: claude-desktop, path: ~/a/folder/within/another/folder/within/a/third/one/claude.json}]
toolRules: [{pattern: ["*one*", "*two*", "*three*", "*four*", "*five*", "*six*"], tags: [numbers, words, many, more]}]
"""
WORDY_COMMANDS = (
    ["list"],
    ["list", "--status"],
    ["doctor"],
    ["discover"],
    ["warm"],
    ["config", "show"],
    ["config", "sources"],
    ["config", "validate"],
    ["settings"],
    ["tools", "clockwork"],
    ["search", "which", "tool", "of", "all", "tells", "me", "how", "many", "days", "are", "left", "until", "easter"],
    ["inspect", "clockwork", "nothing"],
    ["execute", "clockwork", "nothing"],
    ["remove", "clockwrok"],
    ["adopt", "--dry-run"],
    ["connect", "cursor", "--dry-run"],
    ["frobnicate"],
)


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("arguments", WORDY_COMMANDS, ids=" ".join)
def test_text_wraps_between_words(arguments: list[str], columns: int, machine: Machine) -> None:
    machine.configure(WORDY)
    shown = COLOUR.sub("", run_on_terminal(*arguments, columns=columns).out.rpartition("\x1b[J")[2])
    assert "can't be used" not in shown
    for line in shown.split("\n"):
        # A word that is wider than the terminal stands alone: an address or a path is there to be copied.
        assert width_of(line) <= columns or len(line.split()) == 1, line


def test_a_table_loses_no_word_where_it_is_narrow(machine: Machine) -> None:
    machine.configure(WORDY)
    narrow = COLOUR.sub("", run_on_terminal("list", "--wait", "0", columns=60).out)
    starts = narrow.index("ABOUT")
    table = narrow.partition("\n\n")[0].splitlines()
    about = " ".join(filter(None, (line[starts:].strip() for line in table[1:])))
    assert about.startswith(
        "Tells the time and counts the days between any two dates of any calendar that was ever in use"
    )
    state = narrow.index("STATE")
    names = "".join(line[:state].strip() for line in table[1:])
    assert names == "? clockwork- a-server-with-a-name-that-takes-more-room-than-a-table-can-give"
    assert all(width_of(line) <= 60 for line in table)


def test_a_file_that_is_not_there_is_not_painted_as_a_fault(machine: Machine) -> None:
    for command in ("show", "sources"):
        shown = run_on_terminal("config", command).out
        assert "not found" in shown
        assert "\x1b[31m" not in shown


HOSTILE_COMMANDS = (
    ["list"],
    ["search", "show", "--explain"],
    ["tools", "hostile", "--all", "--tags"],
    ["doctor", "hostile"],
    ["logs", "hostile"],
    ["config", "show"],
    ["config", "validate"],
)


@pytest.mark.parametrize("arguments", HOSTILE_COMMANDS, ids=" ".join)
def test_hostile_names_and_texts_print_harmlessly(arguments: list[str], machine: Machine) -> None:
    machine.workshop("hostile")
    for more in ([], ["--json"]):
        _check_harmless(OWN_SEQUENCES.sub("", run_on_terminal(*arguments, *more).out))


def test_a_hostile_tool_can_be_reviewed_inspected_and_run_without_harm(machine: Machine) -> None:
    machine.workshop("hostile")
    assert machine.run("tools", "hostile", "--json").json["tools"] == []
    _check_harmless(OWN_SEQUENCES.sub("", run_on_terminal("approvals", "show", "hostile").out))
    assert machine.run("approvals", "approve", "hostile", "--yes").code == 0
    name = machine.run("tools", "hostile", "--json").json["tools"][0]["name"]
    for command in ("inspect", "execute"):
        shown = run_on_terminal(command, "hostile", name)
        assert shown.code == 0
        assert "evil" in shown.out
        _check_harmless(OWN_SEQUENCES.sub("", shown.out))


def _check_harmless(shown: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", shown)


def test_a_terminal_that_a_server_has_made_itself_is_no_person(machine: Machine) -> None:
    machine.workshop("friendly", more="toolRules: [{pattern: [ping], confirm: true}]\n")

    refused = run_on_terminal("execute", "friendly", "ping", env={"TOOLCRIB_INSIDE": "1"})

    assert refused.code != 0
    assert "CONFIRMATION_REQUIRED" in refused.out
    assert "Run it:" not in refused.out
