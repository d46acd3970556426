"""Several commands at once, and commands that are killed: nobody's configuration is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adoption.home import CODEX, CURSOR, DESKTOP, Home, contents
from toolcrib.adoption.adopt import plan_adoption
from toolcrib.adoption.release import plan_release
from toolcrib.clients.table import CLIENTS
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.errors import ConfigurationError

STOPPED = Path(__file__).parent / "programs" / "stopped.py"
BOUND_SECONDS = 45.0
# Adopting the four clients of `give_all`: four backups and the journal, our own file, the four files.
RENAMES = range(1, 11)


def started(*words: str) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, *words], text=True, **pipes)


@contextmanager
def paused(at_rename: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command that waits at the given rename until the block ends."""
    with started(str(STOPPED), "pause", str(at_rename), *words) as process:
        assert process.stderr.readline() == "paused\n"
        yield process
        process.stdin.write("go on\n")
        process.communicate(timeout=BOUND_SECONDS)


def killed(at_rename: int, *words: str) -> None:
    """Run a command that is gone at the given rename, as with kill -9."""
    with started(str(STOPPED), "kill", str(at_rename), *words) as process:
        process.communicate(timeout=BOUND_SECONDS)


@pytest.mark.parametrize("at_rename", [6, 7, 9])
def test_a_release_that_comes_while_adopt_is_writing_loses_nothing(home, at_rename):
    files = home.give_all()
    with paused(at_rename, "adopt", "--yes"):
        release = started("-m", "toolcrib", "release", "--yes")
        with pytest.raises(subprocess.TimeoutExpired):
            release.communicate(timeout=1.5)  # By now it waits for its turn, or has planned without one.
    release.communicate(timeout=BOUND_SECONDS)
    assert release.returncode == 0
    assert contents(files) == files
    assert not home.own.exists()
    assert home.run("release", "--yes") == 0
    assert contents(files) == files


def test_what_several_commands_write_at_once_is_all_in_the_file(home):
    assert home.run("add", "there", "--", "x") == 0
    assert home.run("add", "gone", "--", "x") == 0
    commands = [("add", f"s{number}", "--", "x") for number in range(6)]
    commands += [("disable", "there"), ("remove", "gone")]
    running = [started("-m", "toolcrib", *words) for words in commands]
    for process in running:
        process.communicate(timeout=BOUND_SECONDS)
    assert [process.returncode for process in running] == [0] * len(commands)
    servers = yaml.safe_load(home.own.read_text(encoding="utf-8"))["discovery"]["servers"]
    assert set(servers) == {"there", *(f"s{number}" for number in range(6))}
    assert servers["there"]["enabled"] is False


def test_who_waits_too_long_is_told_who_is_writing(home, monkeypatch, capsys):
    home.give("cursor", CURSOR)
    monkeypatch.setattr("toolcrib.adoption.site._LOCK_SECONDS", 0.05)
    for words in (("adopt", "--yes"), ("release", "--yes"), ("add", "x", "--", "y"), ("connect", "codex")):
        with home.site.writing("adopt"):
            answer = home.answer(capsys, *words)
        assert answer["exit"] == 2
        assert f"`toolcrib adopt` (process {os.getpid()})" in answer["error"]["message"]
    assert home.file("cursor").read_bytes() == CURSOR
    assert not home.own.exists()


def test_a_plan_is_not_carried_out_when_another_command_came_between(home):
    files = home.give_all()
    stale = [plan_release(home.site, OsKeyring()), plan_adoption(home.site, OsKeyring(), [CLIENTS["codex"]])]
    assert home.run("adopt", "--yes") == 0
    for plan in stale:
        with pytest.raises(ConfigurationError, match="changed by someone else"):
            home.carry_out(plan)
    assert home.run("release", "--yes") == 0
    assert contents(files) == files


def test_a_file_that_changes_while_a_person_is_asked_stops_everything(home):
    files = home.give_all()
    owner, terminal = os.openpty()
    command = [sys.executable, "-m", "toolcrib", "adopt"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, stdin=terminal, **pipes) as process:
        shown = b""
        while not shown.endswith(b"Go ahead? [y/N] "):
            shown += process.stdout.read(1)
        home.give("codex", CODEX + b"# new\n")
        os.write(owner, b"y\n")
        _, errors = process.communicate(timeout=BOUND_SECONDS)
    os.close(terminal)
    os.close(owner)
    assert (process.returncode, b"changed after this was shown" in errors) == (2, True)
    assert home.file("cursor").read_bytes() == files[home.file("cursor")]
    assert not home.own.exists()


def test_what_a_client_wrote_while_adopting_failed_stays_and_release_knows_the_rest(home):
    files = home.give_all()
    cursor, codex = home.file("cursor"), home.file("codex")

    def replace(source: Path, target: Path) -> None:
        if target == codex:
            cursor.write_bytes(cursor.read_bytes() + b"// Cursor was here\n")
            raise OSError(28, "No space left on device")
        os.replace(source, target)

    with pytest.raises(ConfigurationError) as raised:
        home.carry_out(plan_adoption(home.site, OsKeyring()), replace=replace)
    assert "toolcrib release" in raised.value.hint
    assert home.run("release", "--yes") == 0
    assert contents({codex: b"", home.file("vscode"): b""}) == {
        file: files[file] for file in (codex, home.file("vscode"))
    }
    assert b"s3cr3t-n0tes" in cursor.read_bytes()
    assert cursor.read_bytes().endswith(b"// Cursor was here\n")


@pytest.mark.parametrize("at_rename", RENAMES)
def test_after_kill_9_while_adopting_the_next_command_puts_everything_back_and_clears_up(home, at_rename):
    files = home.give_all()
    killed(at_rename, "adopt", "--yes")
    assert home.run("release", "--yes") == 0
    assert contents(files) == files
    assert not home.own.exists()
    assert left_behind(home) == []


@pytest.mark.parametrize("at_rename", range(1, 6))
def test_after_kill_9_while_releasing_the_next_command_finishes_it_and_clears_up(home, at_rename):
    files = home.give_all()
    assert home.run("adopt", "--yes") == 0
    assert home.run("add", "extra", "--", "extra-server") == 0
    killed(at_rename, "release", "--yes")
    assert home.run("release", "--yes") == 0
    assert contents(files) == files
    assert left_behind(home) == []


@pytest.mark.parametrize("at_rename", [1, 4, 5, 6])
def test_what_a_killed_adopt_left_is_cleared_by_any_command_that_writes(home, at_rename):
    home.give_all()
    killed(at_rename, "adopt", "--yes")
    assert left_behind(home)
    assert home.run("add", "extra", "--", "x") == 0
    needed = home.site.journal_file().journal().backups()
    assert {file for file in left_behind(home) if not file.endswith("journal.json")} == needed


def test_a_file_of_somebody_else_with_a_similar_name_is_left_alone(home):
    home.give_all()
    swap = home.file("cursor").with_name(".mcp.json.toolcrib-notes")
    swap.write_bytes(b"mine")
    assert home.run("adopt", "--yes") == 0
    assert home.run("release", "--yes") == 0
    assert swap.read_bytes() == b"mine"


def left_behind(home: Home) -> list[str]:
    """Temporary files beside clients' files and ours, and everything in the folder of adoption but the lock."""
    folders = {home.file(client).parent for client in ("claude-desktop", "cursor", "vscode", "codex")}
    beside = [str(file) for folder in (*folders, home.own.parent) for file in folder.glob(".*.toolcrib-*")]
    kept = [file.relative_to(home.site.folder).as_posix() for file in home.site.folder.rglob("*") if file.is_file()]
    return beside + [name for name in kept if name != "lock"]


class _PowerCut(BaseException):
    pass


CLIENT_CHOICES = st.sampled_from([(), ("cursor",), ("codex",), ("claude-desktop", "cursor")])
PLANNED = st.tuples(st.sampled_from(["adopt", "release"]), CLIENT_CHOICES)
# What is planned first and written later, in any order, each cut off at a rename or not.
HAPPENINGS = st.lists(
    st.one_of(PLANNED, st.tuples(st.integers(0, 3), st.none() | st.integers(1, 8))), min_size=2, max_size=10
)


@pytest.mark.timeout(300)
@settings(max_examples=60)
@given(happenings=HAPPENINGS)
def test_however_plans_and_writes_of_adopt_and_release_meet_everything_comes_back(happenings):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", folder)
        patch.setenv("TOOLCRIB_HOME", f"{folder}/toolcrib")
        _everything_comes_back(Home(), happenings)


def _everything_comes_back(home: Home, happenings: list[tuple[Any, Any]]) -> None:
    given_out = {"claude-desktop": DESKTOP, "cursor": CURSOR, "codex": CODEX}
    files = {home.give(client, content): content for client, content in given_out.items()}
    plans: list[object] = []
    for what, detail in happenings:
        if isinstance(what, str):
            plans.append(_plan(home, what, detail))
        elif plans:
            _cut_off(home, plans[what % len(plans)], detail)
    assert home.run("release", "--yes") == 0
    assert contents(files) == files
    assert not home.own.exists()
    assert left_behind(home) == []


def _plan(home: Home, what: str, clients: tuple[str, ...]) -> object:
    if what == "release":
        return plan_release(home.site, OsKeyring(), clients)
    return plan_adoption(home.site, OsKeyring(), [CLIENTS[name] for name in clients])


def _cut_off(home: Home, plan: object, at_rename: int | None) -> None:
    """Carry the plan out, up to the given rename; a plan that is stale by now is refused."""
    count = 0

    def replace(source: Path, target: Path) -> None:
        nonlocal count
        count += 1
        if count == at_rename:
            raise _PowerCut
        os.replace(source, target)

    with pytest.MonkeyPatch.context() as patch:
        # A process that is gone undoes nothing.
        patch.setattr("toolcrib.adoption.steps._all_undone", lambda *_: True)
        try:
            home.carry_out(plan, replace=replace)
        except (ConfigurationError, _PowerCut):
            return
