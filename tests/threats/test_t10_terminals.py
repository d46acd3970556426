"""T10: nothing that a server says steers a terminal, whichever command shows it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import pytest

from tests.cli.machine import Machine
from tests.servers.registry import Registry, serve
from tests.threats.hostile_home import HARMLESS, STATUS, STEERING, HostileHome
from toolcrib.cli.main import build_parser

# What shows, here, something of servers, agents, peers, registries, projects, clients or whoever typed it; also with `--json`.
COMMANDS = (
    "discover evil", "discover broken", "warm broken", "doctor broken", "list", "list --verbose",
    "tools evil", "tools evil --verbose", "tools evil --tags", "search note", "search note --explain", "inspect evil:TOOL",
    "execute evil fail", "execute evil TOOL", "logs evil", "calls", "stats", "stats --by tool", "stats --by client",
    "approvals list", "approvals show REQUEST", "approvals why evil", "approvals why evil:TOOL", "approvals approve REQUEST --unpinned", "approvals reject REQUEST",
    "peers list", "peers show peer-kitchen", "peers forget peer-EVIL", "registry search note", "registry show ENTRY",
    "capabilities list", "capabilities show CAPABILITY", "capabilities export --to NAME", "capabilities resolve note", "capabilities import forms",
    "config show", "--config odd.json config validate", "config sources", "engine status", "engine logs", "types types.json", "types type.rtfs --exact",
    "audit show", "audit tail", "audit export", "token list", "token create EVIL", "token revoke EVIL",
    "login EVIL", "logout EVIL", "enable EVIL", "disable EVIL", "remove EVIL", "connect EVIL", "connect cursor --dry-run",
    "adopt --dry-run", "adopt --dry-run --diff", "release --dry-run",
)  # fmt: skip
# The same without `--json`; the last one changes what the others say.
AS_TEXT = ("peers trust peer-kitchen", "trust --list", "trust")
# These say nothing of what strangers wrote, are not for a terminal, or (`watch`) say what `list` does and go on.
SILENT = {
    "add", "audit verify", "completion", "config reload", "engine restart", "engine start", "engine stop", "peers watch", "registry sync", "serve",
    "settings",
}  # fmt: skip


@pytest.fixture
def home(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[HostileHome]:
    monkeypatch.setattr("toolcrib.cli.engine.status_of", lambda place: STATUS)
    with serve(Registry()) as registry:
        yield HostileHome(Machine(capsys), registry)


@pytest.mark.timeout(120)
def test_t10_every_command_prints_hostile_names_harmlessly(home: HostileHome) -> None:
    for line in COMMANDS:
        if line.startswith("engine") and sys.platform == "win32":
            continue  # clients share none there
        if line.startswith("release"):
            home.machine.run("adopt", "cursor", "--yes")
        check(home, line)
        check(home, f"{line} --json")
    for line in AS_TEXT:
        check(home, line)


def check(home: HostileHome, line: str) -> None:
    ran = home.run(line)
    said = ran.out + ran.err
    assert STEERING.findall(said) == [], line
    # A command that has nothing hostile to show would prove nothing.
    assert HARMLESS.search(said), f"{line} showed {said!r}"


def test_every_command_is_among_those_that_are_tried() -> None:
    tried = [words_of(line) for line in (*COMMANDS, *AS_TEXT)]
    for command in commands_in(build_parser("toolcrib")):
        words = command.split()
        assert (words in [one[: len(words)] for one in tried]) is (command not in SILENT), command
    assert set(commands_in(build_parser("toolcrib"))) >= SILENT


def words_of(line: str) -> list[str]:
    return line.removeprefix("--config odd.json ").split()


def commands_in(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Each command that can be run, with its action where it has several."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in inner:
        for name, command in action.choices.items():
            yield from (f"{name} {more}".strip() for more in commands_in(command))
    if not inner:
        yield ""
