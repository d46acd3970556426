"""T10: nothing that a server says steers a terminal, whichever command shows it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.machine import Machine
from toolcrib.cli.main import build_parser

EVIL = "\u202etxt\u2028line\x1b[2J\u200b\x9b\x7f\rover"
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
SERVER = Path(__file__).with_name("programs") / "hidden_words.py"
# What shows something of servers; and with `--json` too, where a command has that.
COMMANDS = (
    "discover evil", "warm", "list", "list --verbose", "tools evil", "tools evil --verbose", "search note", "search note --explain",
    "inspect evil NAME", "inspect evil:echo", "execute evil fail", "doctor evil", "logs evil", "calls", "stats", "approvals list",
    "peers list", "registry search note", "capabilities list", "capabilities find note", "config show", "config validate", "config sources",
    "types evil NAME", "login evil", "adopt --dry-run", "release --dry-run", "engine status", "trust", "audit show", "audit tail", "audit verify", "audit export", "token list", "disable evil --dry-run",
)  # fmt: skip
# These say nothing of what servers said, or are not for a terminal.
SILENT = {"add", "completion", "connect", "enable", "logout", "remove", "serve", "settings"}


@pytest.fixture
def machine(capsys: pytest.CaptureFixture[str]) -> Machine:
    return Machine(capsys)


def test_t10_every_command_prints_hostile_names_harmlessly(machine: Machine) -> None:
    entry = {
        "command": sys.executable,
        "args": ["-I", "-S", str(SERVER)],
        "description": f"An entry{EVIL}",
        "tags": [EVIL],
    }
    machine.configure(json.dumps({"discovery": {"servers": {"evil": entry}, "trust": {"scan": False}}}))
    machine.run("discover", "evil")
    names = [tool["name"] for tool in machine.run("tools", "evil", "--json").json["tools"]]
    odd = next(name for name in names if name.startswith("read"))

    for line in COMMANDS:
        words = [odd if word == "NAME" else word for word in line.split()]
        for given in (words, [*words, "--json"]):
            ran = machine.run(*given)
            assert STEERING.findall(ran.out + ran.err) == [], given


def test_every_command_is_among_those_that_are_tried() -> None:
    (choices,) = (action.choices for action in build_parser("toolcrib")._actions if action.dest == "command")
    assert set(choices) == {line.split()[0] for line in COMMANDS} | SILENT
